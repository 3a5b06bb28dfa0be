"""What a classifier sees of a text: the n-grams of its beginning and of its end, and its size."""

from collections.abc import Iterator
from operator import add

HEAD_CHARACTERS = 128
TAIL_CHARACTERS = 64
READ_CHARACTERS = 4096


def excerpt(text: str) -> str:
    """The part that is looked at, in lower case, white space made one space.

    Requests say what they want at the beginning or, in Korean, at the end: that is
    the first `HEAD_CHARACTERS` and the last `TAIL_CHARACTERS` of the text's first
    `READ_CHARACTERS`.
    """
    text = text[:READ_CHARACTERS]
    if len(text) > 2 * (HEAD_CHARACTERS + TAIL_CHARACTERS):
        text = f"{text[: 2 * HEAD_CHARACTERS]}\n{text[-2 * TAIL_CHARACTERS :]}"
    plain = " ".join(text.lower().split())
    if len(plain) > HEAD_CHARACTERS + TAIL_CHARACTERS:
        plain = plain[:HEAD_CHARACTERS] + plain[-TAIL_CHARACTERS:]
    return f" {plain} "


def size_gram(characters: int) -> str:
    """The feature of a text's size, by powers of two; longer than any n-gram."""
    return f"size {min(characters, READ_CHARACTERS).bit_length()}"


def pairs(plain: str) -> list[str]:
    """All neighbouring characters of an excerpt."""
    return list(map(add, plain, plain[1:]))


def triples(plain: str, two: list[str]) -> Iterator[str]:
    """All runs of three, from the pairs."""
    return map(add, two, plain[2:])


def grams(text: str) -> list[str]:
    """Every feature of a text, repeated as often as it occurs."""
    plain = excerpt(text)
    two = pairs(plain)
    return [size_gram(len(text)), *two, *triples(plain, two)]
