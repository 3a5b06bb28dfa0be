"""The text fields of a `multipart/form-data` body, by byte offsets."""

import re
from collections.abc import Iterator

import msgspec

from proa.guard.json_text import UnreadableBody

_BOUNDARY = re.compile(rb'boundary=(?:"([^"]{1,70})"|([^;,\s"]{1,70}))', re.IGNORECASE)
_FILENAME = re.compile(rb"filename\*?=", re.IGNORECASE)
_TEXT_TYPE = re.compile(
    rb"^content-type:[ \t]*(?:text/|application/(?:[a-z+.-]*json))", re.IGNORECASE | re.MULTILINE
)
_NAME = re.compile(rb'[; ]name="?([^";]*)', re.IGNORECASE)
_MAX_PARTS = 1000


class Part(msgspec.Struct, frozen=True, gc=False):
    """The value of a field from byte `start` to `end`; a file that is no text `is_media`."""

    name: bytes
    start: int
    end: int
    is_media: bool


def parts(body: bytes, content_type: bytes) -> Iterator[Part]:
    """The fields in their order.

    Raises:
        UnreadableBody: no boundary, an end that is missing, or over 1,000 parts.
    """
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise UnreadableBody("the form names no boundary")
    border = b"--" + (found[1] or found[2])
    at = _after(body, border, 0 if body.startswith(border) else body.find(b"\r\n" + border) + 2)
    for _ in range(_MAX_PARTS):
        if body.startswith(b"--", at):
            return
        head_end = body.find(b"\r\n\r\n", at)
        end = body.find(b"\r\n" + border, head_end + 2)
        if head_end < 0 or end < 0:
            break
        yield _part(body[at : head_end + 2], head_end + 4, end)
        at = _after(body, border, end + 2)
    raise UnreadableBody("the form of the body cannot be read")


def _after(body: bytes, border: bytes, at: int) -> int:
    if not body.startswith(border, at):
        raise UnreadableBody("the form of the body cannot be read")
    return at + len(border)


def _part(head: bytes, start: int, end: int) -> Part:
    name = _NAME.search(head)
    is_media = _FILENAME.search(head) is not None and _TEXT_TYPE.search(head) is None
    return Part(name[1] if name else b"", start, max(start, end), is_media)
