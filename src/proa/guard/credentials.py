"""Secrets that get into prompts: API keys by their prefixes, tokens, private keys, passwords."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator

from proa.guard.finding import Finding

_KEYS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (
        head,
        re.compile(rf"{head}(?<![A-Za-z0-9_-]{'.' * len(head)}){rest}(?![A-Za-z0-9_-])", re.ASCII),
    )
    for head, rest in (
        ("sk-", r"[A-Za-z0-9_-]{20,200}"),
        ("sk_live_", r"[A-Za-z0-9]{16,120}"),
        ("sk_test_", r"[A-Za-z0-9]{16,120}"),
        ("rk_live_", r"[A-Za-z0-9]{16,120}"),
        ("rk_test_", r"[A-Za-z0-9]{16,120}"),
        ("AKIA", r"[0-9A-Z]{16}"),
        ("ASIA", r"[0-9A-Z]{16}"),
        *((f"gh{kind}_", r"[A-Za-z0-9]{36,255}") for kind in "pousr"),
        ("github_pat_", r"[A-Za-z0-9_]{22,255}"),
        ("glpat-", r"[A-Za-z0-9_-]{20,64}"),
        ("hf_", r"[A-Za-z0-9]{30,60}"),
        ("xox", r"[abprs]-[A-Za-z0-9-]{10,250}"),
        ("AIza", r"[0-9A-Za-z_-]{35}"),
        ("npm_", r"[A-Za-z0-9]{36}"),
        ("pypi-", r"[A-Za-z0-9_-]{50,250}"),
        ("gsk_", r"[A-Za-z0-9]{40,60}"),
        ("nvapi-", r"[A-Za-z0-9_-]{40,100}"),
    )
)
_JWT = re.compile(
    r"eyJ(?<![A-Za-z0-9_.-]...)[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{0,2000}",
    re.ASCII,
)
_PEM_BEGIN = re.compile(r"-----BEGIN ((?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?)-----")
_PEM_MOST = 16_384
# A character class comes first, so that `re` looks for it without trying the rest everywhere.
_PASSWORD = re.compile(
    r"[비패암pP](?:밀번호|번|스워드|호|[wW][dD]|[aA][sS]{2}(?:[wW][oO][rR][dD]|[wW][dD]|[pP][hH][rR][aA][sS][eE]))"
    r"[\"']? ?(?:[:=]|은|는|이) ?"
    r"(?:[\"'](?P<quoted>[!#-&(-\[\]-~]{4,64})[\"']|[\"']?(?P<value>[!#-&(-+\--:<-Z^-~]{4,64}))"
)
_PLACEHOLDER = re.compile(
    r"[*x.<{$]+|null|none|true|false|string|required|\W+|\$\{?\w+\}?\W*|<[A-Za-z].*|\{.+\}",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z_][\w.]*\(.*")
_PROSE = re.compile(r"[a-z]+")
_AWS = re.compile(
    r"(?i:aws_secret_access_key)[\"']? ?[:=] ?[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", re.ASCII
)


def api_keys(text: str) -> Iterator[Finding]:
    """Keys of well-known services; the secret half of AWS's by its name."""
    if "aws_secret" in text or "AWS_SECRET" in text:
        for found in _AWS.finditer(text):
            yield Finding("api_key", found.start(1), found.end(1), 0.95)
    for head, pattern in _KEYS:
        if head in text:
            for found in pattern.finditer(text):
                if any(map(str.isdigit, found.group())):
                    yield Finding("api_key", found.start(), found.end(), 0.95)


def jwts(text: str) -> Iterator[Finding]:
    """Three parts, the first of which decodes to a JSON object with an algorithm."""
    for found in _JWT.finditer(text):
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
    """The value after a word for a password; not what only stands for one, nor code or prose."""
    for found in _PASSWORD.finditer(text):
        group = "value" if found["quoted"] is None else "quoted"
        if group == "value" and _is_spoken_of(found, text[found.end() : found.end() + 1]):
            continue
        if not _PLACEHOLDER.fullmatch(found[group]):
            yield Finding("password", found.start(group), found.end(group), 0.8)


def _is_spoken_of(found: re.Match[str], behind: str) -> bool:
    """`os.environ[`, `getpass()`, `Password: must be ...`."""
    value = found["value"]
    if behind == "[" or _CODE.fullmatch(value):
        return True
    return behind == " " and _PROSE.fullmatch(value) is not None
