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
_V4 = re.compile(r"(?<![\d.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d]|\.\d)", re.ASCII)
_V6 = re.compile(
    r"(?<![\w.])(?<![0-9A-Fa-f:]:)(?<!::)(?:::|[0-9A-Fa-f]{1,4}:)[0-9A-Fa-f:]{0,37}(?:(?<=:)\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])",
    re.ASCII,
)
_VERSION = re.compile(r"(?:version|버전|ver\.?|release|v) ?$")


def emails(text: str) -> Iterator[Finding]:
    """What stands around every `@`; a Korean particle behind belongs to nothing."""
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


def ip_addresses(text: str, start: int, end: int, *, private: bool) -> Iterator[Finding]:
    """Addresses that parse; with `private` false none of networks that are not routed."""
    for found in _V4.finditer(text, start, end) if text.count(".", start, end) > 2 else ():
        if not _VERSION.search(before(text, found.start())):
            yield from _address(found.group(), found.start(), private=private)
    if text.count(":", start, end) < 2:
        return
    for found in _V6.finditer(text, start, end):
        written = found.group()
        if written.count(":") >= 2 and any(map(str.isdigit, written)) and len(written) > 4:
            yield from _address(written, found.start(), private=private)


def _address(written: str, start: int, *, private: bool) -> Iterator[Finding]:
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return
    if private or address.is_global:
        yield Finding("ip_address", start, start + len(written), 0.9)
