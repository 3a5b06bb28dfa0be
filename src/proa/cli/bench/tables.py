"""Tables of a measurement as text for a terminal or as Markdown; numbers with their units."""

from collections.abc import Sequence

from proa.cli.page.blocks import Grid
from proa.cli.texts import columns

NONE = "-"
Row = Sequence[str]


def table(rows: Sequence[Row], *, markdown: bool) -> str:
    """The first row is the head; the first column stands left, numbers right."""
    if markdown:
        marks = ["---", *["---:"] * (len(rows[0]) - 1)]
        return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], marks, *rows[1:]))
    widths = [max(columns(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join(_aligned(row, widths) for row in rows)


def _aligned(row: Row, widths: Sequence[int]) -> str:
    spaces = [" " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)]
    cells = [row[0] + spaces[0], *(space + cell for cell, space in zip(row, spaces, strict=True))]
    return "  ".join([cells[0], *cells[2:]]).rstrip()


def grid(rows: Sequence[Row]) -> Grid:
    """The first row is the head; the first column is words, the others numbers."""
    head, *others = map(tuple, rows)
    return Grid(head, tuple(others), right=frozenset(range(1, len(head))))


def number(value: float | None, digits: int = 1, factor: float = 1.0) -> str:
    """`-` is "not measured"."""
    return NONE if value is None else f"{value * factor:.{digits}f}"


def signed(value: float | None, digits: int = 1, factor: float = 1.0) -> str:
    """With + or -."""
    return NONE if value is None else f"{value * factor:+.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 1, factor: float = 1.0) -> str:
    """`low … high`."""
    if low is None or high is None:
        return NONE
    return f"{low * factor:.{digits}f} … {high * factor:.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share as percent."""
    return NONE if share is None else f"{share:.{digits}%}"
