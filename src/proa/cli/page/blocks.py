"""What a page is made of, whatever it is printed as: sections of a few kinds of blocks."""

from typing import TypeAlias

import msgspec


class Prose(msgspec.Struct, frozen=True):
    """A paragraph; `strong` is what a reader should see first."""

    text: str
    strong: bool = False


class Grid(msgspec.Struct, frozen=True):
    """A table; `right` are the columns of numbers, `marked` the row that was chosen."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    marked: int | None = None


class Bullets(msgspec.Struct, frozen=True):
    """A list; `warns` where each item is a warning."""

    items: tuple[str, ...]
    warns: bool = False


class Code(msgspec.Struct, frozen=True):
    """A command or a file, to be copied."""

    text: str


class Quote(msgspec.Struct, frozen=True):
    """Wording for a proposal, in a language of its own."""

    text: str
    language: str


class Plot(msgspec.Struct, frozen=True):
    """A picture, which only HTML shows; the numbers of it are in a table beside."""

    svg: str
    caption: str


Block: TypeAlias = Prose | Grid | Bullets | Code | Quote | Plot


class Section(msgspec.Struct, frozen=True):
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]


class Page(msgspec.Struct, frozen=True):
    """A whole answer; `lead` are the few numbers that it comes down to."""

    language: str
    title: str
    status: str
    lead: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
