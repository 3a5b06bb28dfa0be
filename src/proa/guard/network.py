"""E-mail addresses and IP addresses."""

import ipaddress
import re
from collections.abc import Iterator

from proa.guard.finding import Finding
from proa.guard.runs import before

_LOCAL = re.compile(r"[A-Za-z0-9._%+'-]{1,64}", re.ASCII)  # read backwards from the @
_HANGUL_LOCAL = re.compile(r"[가-힣]{1,20}")
_DOMAIN = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z]{2,24})(?![A-Za-z0-9-]*\.[A-Za-z])"
    r"|(?:[A-Za-z0-9가-힣](?:[A-Za-z0-9가-힣-]{0,61})?\.){1,8}(?:한국|닷컴|닷넷|com|net|org|kr)"
)
_V4 = re.compile(r"[0-9](?<![\d.].)\d{0,2}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d]|\.\d)", re.ASCII)
_COLONS = re.compile(r":[0-9A-Fa-f:]*+(?:\.[0-9]{1,3}){0,3}+")
_HEAD = re.compile(r"(?<![0-9A-Za-z_.])[0-9A-Fa-f]{1,4}\Z")
_V6_LEAST, _V6_MOST = 5, 45
_VERSION = re.compile(r"(?:version|버전|ver\.?|release|v) ?$")


_HALF_WIDTH = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}  # keeps the offsets


def emails(text: str) -> Iterator[Finding]:
    """What stands around every `@`; a Korean particle behind belongs to nothing."""
    if "\uff20" in text:
        text = text.translate(_HALF_WIDTH)
    place = text.find("@")
    while place >= 0:
        domain = _DOMAIN.match(text, place + 1)
        if domain is not None:
            start = _local_start(text, place)
            if start < place:
                yield Finding("email", start, domain.end(), 0.97)
        place = text.find("@", place + 1)


def _local_start(text: str, place: int) -> int:
    backwards = text[max(0, place - 64) : place][::-1]
    found = _LOCAL.match(backwards) or _HANGUL_LOCAL.match(backwards)
    if found is None:
        return place
    start = place - found.end()
    while start < place and text[start] in ".'-%+":
        start += 1
    return start


def ip_addresses(text: str, *, private: bool) -> Iterator[Finding]:
    """Addresses that parse; with `private` false none of networks that are not routed."""
    for found in _V4.finditer(text) if text.count(".") > 2 else ():
        if not _VERSION.search(before(text, found.start())):
            yield from _address(found.group(), found.start(), private=private)
    for found in _COLONS.finditer(text) if text.count(":") > 1 else ():
        if len(found.group()) < _V6_MOST and found.group().count(":") > 1:
            yield from _version_six(text, found, private=private)


def _version_six(text: str, found: re.Match[str], *, private: bool) -> Iterator[Finding]:
    """An address around its colons; one colon before it may belong to the words before."""
    head = _HEAD.search(text, max(0, found.start() - 5), found.start())
    start = found.start() if head is None else head.start()
    written = text[start : found.end()]
    if written.startswith(":") and not written.startswith("::"):
        start, written = start + 1, written[1:]
    behind = text[found.end() : found.end() + 1]
    is_in_word = behind.isascii() and (behind.isalnum() or behind == "_")
    if len(written) >= _V6_LEAST and any(map(str.isdigit, written)) and not is_in_word:
        yield from _address(written, start, private=private)


def _address(written: str, start: int, *, private: bool) -> Iterator[Finding]:
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return
    if private or address.is_global:
        yield Finding("ip_address", start, start + len(written), 0.9)
