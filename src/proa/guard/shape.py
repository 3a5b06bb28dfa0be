"""A text told by classes of its characters: what it cannot hold is told in a µs, not searched for.

Searching a KB with `re` takes some 4 µs for each pattern, asking bytes for a few bytes 0.1 µs. The
answers may be yes for nothing, never no for something.
"""

import re

_CLASSES = {
    "0": "0123456789",
    "a": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_+/=",
    "-": "-",
    ".": ".",
    ":": ":",
    " ": " \t\r\n()",
}
_CONTINUED = bytes(range(0x80, 0xC0))  # of UTF-8: so each character is one byte in the end
_TABLE = bytearray(b"x" * 0xC0 + b"?" * 0x40)
for _class, _chars in _CLASSES.items():
    for _char in _chars.encode():
        _TABLE[_char] = ord(_class)
_SHAPES = bytes(_TABLE)
_PARTS = bytes.maketrans(b"a:", b"0.")
# Digits, dashes, spaces and invisible characters that are not ASCII, by their first byte.
_ODD = (
    (0xC2, re.compile(rb"\xc2[\xa0\xad\xb7]")),
    (0xE2, re.compile(rb"\xe2(?:\x80[\x80-\x95\xaf]|\x81\xa0|\x88\x92)")),
    (0xE3, re.compile(rb"\xe3(?:\x80\x80|\x83[\xbb\xbc]|\x85\xa1)")),
    (0xEF, re.compile(rb"\xef(?:\xbb\xbf|\xbc|\xbd)")),
    (0xF0, re.compile(rb"\xf0\x9d\x9f")),
)
_RUN = re.compile(rb"0[0 .-]{6}")


class Shape:
    """What may be in a text: digits at all, a run of them, codes, addresses with dots, plates."""

    __slots__ = ("has_code", "has_digit", "has_parts", "has_plate", "has_run")

    def __init__(self, text: str) -> None:
        raw = text.encode("utf-8", "surrogatepass")
        for lead, odd in _ODD:
            if lead in raw and odd.search(raw):
                self.has_digit = self.has_run = self.has_plate = True
                self.has_code = self.has_parts = True
                return
        shape = raw.translate(_SHAPES, _CONTINUED)
        parts = shape.translate(_PARTS)
        self.has_digit = b"0" in shape
        self.has_run = self.has_digit and _RUN.search(shape) is not None
        self.has_plate = b"0?0000" in shape or b"0? 0000" in shape
        self.has_code = (
            b"a0" in shape or b"0a" in shape or b"-0" in shape or b"0-" in shape
        )  # fmt: skip
        self.has_parts = (
            b".." in parts or b".0." in parts or b".00." in parts
            or b".000." in parts or b".0000." in parts
        )  # fmt: skip
