"""Runs of digits with what may stand between them, read as plain ASCII.

`１２３—４５６`, `123 - 456` and `123\\u200b-456` are all read as `123-456`, with the place of every
character in the text. What is no run of at least `LEAST_DIGITS` digits is never looked at.
"""

import re
import unicodedata
from collections.abc import Iterator

LEAST_DIGITS = 7
DIGITS = "0-9\uff10-\uff19\U0001d7ce-\U0001d7ff"
DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d\u30fc\u3161\u00b7\u30fb"
SPACES = " \t\u00a0\u2000-\u200a\u202f\u3000"
INVISIBLE = "\u00ad\u200b-\u200d\u2060\ufeff"
_OTHERS = ".()\uff0e\uff08\uff09"
BETWEEN = f"\\{DASHES}{SPACES}{INVISIBLE}{_OTHERS}\r\n"
_HANGUL = "공영일이삼사오육륙칠팔구"
_RUN = re.compile(rf"[{DIGITS}](?:[{BETWEEN}]{{0,4}}+[{DIGITS}]){{{LEAST_DIGITS - 1},}}+")
_SPOKEN = re.compile(rf"(?<![가-힣])[공영](?:[{BETWEEN}]{{0,2}}+[{_HANGUL}\d]){{8,24}}+")
_PLAIN = re.compile(r"\d++(?:[-. ()]\d++)*+", re.ASCII)
_VALUES = dict(zip(_HANGUL, "001234566789", strict=True))
_MAY_END = re.compile(rf"[+\uff0b\d{BETWEEN}{_HANGUL}]").match
_IS_DASH = re.compile(f"[\\{DASHES}]").match
_IS_SPACE = re.compile(f"[{SPACES}]").match
_IS_INVISIBLE = re.compile(f"[{INVISIBLE}]").match
CONTEXT_CHARS = 40


class Run:
    """`norm`: digits and single separators `-`, space, `.`, `(`, `)`, and a newline of its own."""

    __slots__ = ("_places", "norm", "start", "text")

    def __init__(self, text: str, start: int, norm: str, places: list[int] | None) -> None:
        self.text = text
        self.start = start
        self.norm = norm
        self._places = places

    def at(self, index: int) -> int:
        """The place in the text of a character of `norm`."""
        return self.start + (index if self._places is None else self._places[index])

    def end_of(self, index: int) -> int:
        """The place behind the last character before `index` of `norm`."""
        return self.at(index - 1) + 1

    def is_in_word(self, start: int, end: int) -> bool:
        """Whether Latin letters adjoin the part of `norm`: a hash, a file's name, a code."""
        first, last = self.at(start) - 1, self.end_of(end)
        return (first >= 0 and _is_letter(self.text[first])) or (
            last < len(self.text) and _is_letter(self.text[last])
        )

    def before(self, index: int, chars: int = CONTEXT_CHARS) -> str:
        """What stands before a character of `norm`, in lower case."""
        place = self.at(index)
        return self.text[max(0, place - chars) : place].lower()


def before(text: str, place: int) -> str:
    """The words before a place that may tell what is there, in lower case.

    Only what comes before counts, so that a text in pieces says the same as the whole.
    """
    return text[max(0, place - CONTEXT_CHARS) : place].lower()


def runs(text: str) -> Iterator[Run]:
    """The runs of a text, in their order."""
    for found in _RUN.finditer(text):
        yield _read(text, found.start(), found.group())


def spoken_runs(text: str) -> Iterator[Run]:
    """Digits in words, 공일공 일이삼사 오육칠팔, as phone numbers are dictated."""
    if "공일" in text or "영일" in text:
        for found in _SPOKEN.finditer(text):
            yield _read(text, found.start(), found.group())


def may_end_run(char: str) -> bool:
    """Whether a run that is not complete may end with this character."""
    return _MAY_END(char) is not None


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def open_run(text: str, since: int) -> int:
    """Where a run begins that reaches the end of the text, not before `since`; else its length."""
    first = max(since, len(text.rstrip(_OF_OPEN)))
    found = _OPEN.search(text, first)
    return found.start() if found is not None else len(text)


def _members(chars: str) -> str:
    """The characters of a class, its ranges written out."""
    return re.sub("(.)-(.)", lambda r: "".join(map(chr, range(ord(r[1]), ord(r[2]) + 1))), chars)


_OF_OPEN = "".join(
    map(_members, (DIGITS, DASHES, SPACES, INVISIBLE, _OTHERS, _HANGUL, "+\uff0b\r\n"))
)
_OPEN = re.compile(
    rf"[+\uff0b(]{{0,2}}(?:\d|(?<![가-힣])[공영](?=[{BETWEEN}{_HANGUL}\d]*\Z))"
    rf"[{BETWEEN}{_HANGUL}\d]*\Z|[+\uff0b(\uff08]\Z"
)


def _read(text: str, start: int, found: str) -> Run:
    if _PLAIN.fullmatch(found):
        return Run(text, start, found, None)
    out: list[str] = []
    places: list[int] = []
    for place, char in enumerate(found):
        if _IS_INVISIBLE(char):
            continue
        read = _plain(char)
        last = out[-1] if out else ""
        if read in " \n" and last in ("-", " ", "\n"):
            if read == "\n" and last == " ":
                out[-1] = read
            continue
        if read == "-":
            if last == "-":
                continue
            while out and out[-1] in " \n":
                out.pop()
                places.pop()
        out.append(read)
        places.append(place)
    return Run(text, start, "".join(out), places)


def _plain(char: str) -> str:
    if char.isdigit():
        return str(unicodedata.digit(char))
    if char in _VALUES:
        return _VALUES[char]
    if _IS_DASH(char):
        return "-"
    if _IS_SPACE(char):
        return " "
    return "\n" if char in "\r\n" else unicodedata.normalize("NFKC", char)
