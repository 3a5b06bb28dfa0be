"""Event borders in server-sent events (any line end) and newline-delimited JSON.

Source: WHATWG HTML, section 9.2.6: a line ends with LF, CRLF or CR, an event with
an empty line.
"""

import re
from collections.abc import Iterator

_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_LINE_END = re.compile(rb"\r\n|\n|\r")


def last_event_end(data: bytes) -> int:
    """Index just after the last whole event in `data`, 0 when none is whole.

    A trailing CR LF CR is not an end yet: its LF is on the way.
    """
    at = data.rfind(b"\n\n") + 2
    with_cr = data.rfind(b"\n\r\n") + 3
    bare_cr = data.rfind(b"\r\r") + 2
    return max(at if at > 1 else 0, with_cr if with_cr > 2 else 0, bare_cr if bare_cr > 1 else 0)


def last_line_end(data: bytes) -> int:
    """Index just after the last whole line in `data`, 0 when none is whole (NDJSON)."""
    return data.rfind(b"\n") + 1


def split_events(block: bytes) -> Iterator[tuple[bytes, int]]:
    """Each whole event of `block`, without its empty line, and the index after it."""
    at = 0
    for border in _BLANK_LINE.finditer(block):
        yield block[at : border.start()], border.end()
        at = border.end()


def split_lines(block: bytes) -> Iterator[tuple[bytes, int]]:
    """Each whole line of `block`, without its end, and the index after it."""
    at = 0
    while (end := block.find(b"\n", at)) >= 0:
        yield block[at:end].rstrip(b"\r"), end + 1
        at = end + 1


def event_data(event: bytes) -> bytes:
    """The data of an event: its `data` lines joined by LF; empty for a comment."""
    found = []
    for line in _LINE_END.split(event):
        if line.startswith(b"data:"):
            value = line[5:]
            found.append(value[1:] if value.startswith(b" ") else value)
    return b"\n".join(found)
