"""Secrets that get into prompts: API keys by their prefixes, tokens, private keys, passwords."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator

from proa.guard.finding import Finding

_KEYS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (hint, re.compile(rf"(?<![A-Za-z0-9_-]){pattern}(?![A-Za-z0-9_-])", re.ASCII))
    for hint, pattern in (
        ("sk-", r"sk-[A-Za-z0-9_-]{20,200}"),
        ("sk_", r"sk_(?:live|test)_[A-Za-z0-9]{16,120}"),
        ("rk_", r"rk_(?:live|test)_[A-Za-z0-9]{16,120}"),
        ("AKIA", r"AKIA[0-9A-Z]{16}"),
        ("ASIA", r"ASIA[0-9A-Z]{16}"),
        ("gh", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
        ("glpat-", r"glpat-[A-Za-z0-9_-]{20,64}"),
        ("hf_", r"hf_[A-Za-z0-9]{30,60}"),
        ("xox", r"xox[abprs]-[A-Za-z0-9-]{10,250}"),
        ("AIza", r"AIza[0-9A-Za-z_-]{35}"),
        ("npm_", r"npm_[A-Za-z0-9]{36}"),
        ("pypi-", r"pypi-[A-Za-z0-9_-]{50,250}"),
        ("gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
        ("nvapi-", r"nvapi-[A-Za-z0-9_-]{40,100}"),
    )
)
_JWT = re.compile(
    r"(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{0,2000}",
    re.ASCII,
)
_PEM_BEGIN = re.compile(r"-----BEGIN ((?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?)-----")
_PEM_MOST = 16_384
_PASSWORD = re.compile(
    r"(?:password|passwd|pwd|passphrase|비밀번호|비번|패스워드|암호)"
    r"[\"']? ?(?:[:=]|은|는|이) ?[\"']?"
    r"(?P<value>[!-&(-+\--:<-Z^-~]{4,64})",
    re.ASCII | re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"[*x.<{$]+|null|none|true|false|string|required|\W+", re.IGNORECASE)


def api_keys(text: str, start: int, end: int) -> Iterator[Finding]:
    """Keys of well-known services."""
    for hint, pattern in _KEYS:
        if text.find(hint, start, end) >= 0:
            for found in pattern.finditer(text, start, end):
                if any(map(str.isdigit, found.group())):
                    yield Finding("api_key", found.start(), found.end(), 0.95)


def jwts(text: str, start: int, end: int) -> Iterator[Finding]:
    """Three parts, the first of which decodes to a JSON object with an algorithm."""
    for found in _JWT.finditer(text, start, end):
        head = found.group().partition(".")[0]
        try:
            decoded = urlsafe_b64decode(head + "=" * (-len(head) % 4))
        except ValueError:
            continue
        if b'"alg"' in decoded or b'"enc"' in decoded:
            yield Finding("jwt", found.start(), found.end(), 0.98)


def private_keys(text: str) -> Iterator[Finding]:
    """From BEGIN to END; without an end, all that follows up to 16 KiB."""
    covered = 0
    for found in _PEM_BEGIN.finditer(text):
        if found.start() < covered:
            continue
        end_mark = f"-----END {found[1]}-----"
        end = text.find(end_mark, found.end(), found.end() + _PEM_MOST)
        covered = end + len(end_mark) if end >= 0 else min(len(text), found.end() + _PEM_MOST)
        yield Finding("private_key", found.start(), covered, 0.99)


def passwords(text: str) -> Iterator[Finding]:
    """The value after a word for a password; not what only stands for one."""
    for found in _PASSWORD.finditer(text):
        if not _PLACEHOLDER.fullmatch(found["value"]):
            yield Finding("password", found.start("value"), found.end("value"), 0.8)
