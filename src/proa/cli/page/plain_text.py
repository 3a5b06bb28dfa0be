"""A plan's page as plain text of 100 columns; Korean letters take two."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from proa.cli.page.blocks import Block, Bullets, Code, Grid, Page, Plot, Prose, Quote
from proa.cli.texts import columns as columns_of

COLUMNS = 100
_GAP = "  "


def text_page(page: Page) -> str:
    """The page, with a line end at its end."""
    lines = [f"{page.title}  ({page.status})", ""]
    lines += _lead(page.lead)
    for section in page.sections:
        blocks = [_block(block) for block in section.blocks if not isinstance(block, Plot)]
        if not blocks:
            continue
        lines += ["", section.title, "─" * columns_of(section.title)]
        for before, block in pairwise([[], *blocks]):
            lines += [*([""] if before else []), *block]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def wrapped(text: str, columns: int, indent: str = "") -> list[str]:
    """Lines of at most `columns`, cut between words; those after the first are indented."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}" if line.strip() else line + word
        if line.strip() and columns_of(longer) > columns:
            lines.append(line)
            longer = indent + word
        line = longer
    return [*lines, line]


def _lead(lead: Sequence[tuple[str, str]]) -> list[str]:
    width = max((columns_of(name) for name, _ in lead), default=0)
    return [
        line
        for name, told in lead
        for line in _hanging(f"  {_padded(name, width)}{_GAP}", told.split("\n"))
    ]


def _hanging(head: str, parts: Iterable[str]) -> list[str]:
    lines: list[str] = []
    indent = " " * columns_of(head)
    for part in parts:
        for line in wrapped(part, COLUMNS - len(indent)):
            lines.append((indent if lines else head) + line)
    return lines


def _block(block: Block) -> list[str]:
    match block:
        case Prose(text):
            return [f"  {line}" for part in text.split("\n") for line in wrapped(part, COLUMNS - 2)]
        case Grid():
            return _grid(block)
        case Bullets(items, warns):
            return [
                line for item in items for line in _hanging("  ! " if warns else "  - ", [item])
            ]
        case Code(text):
            return [f"    {line}" for line in text.splitlines()]
        case Quote(text):
            parts = text.split("\n")
            return [f"  │ {line}" for part in parts for line in wrapped(part, COLUMNS - 4)]
        case _:
            return []


def _grid(grid: Grid) -> list[str]:
    widths = [_width(grid, index, whole=True) for index in range(len(grid.head))]
    if _columns(widths) > COLUMNS:
        widths = [_width(grid, index, whole=False) for index in range(len(grid.head))]
    _squeeze(widths, grid)
    lines = [] if not any(grid.head) else [*_row(grid.head, widths, grid.right), _rule(widths)]
    for index, row in enumerate(grid.rows):
        cells = _row(row, widths, grid.right)
        mark = "▸ " if index == grid.marked else "  "
        lines += [(mark if not at else "  ") + cell[2:] for at, cell in enumerate(cells)]
    return lines


def _columns(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * len(widths)


def _width(grid: Grid, index: int, *, whole: bool) -> int:
    """Columns that one of the table needs; over numbers the head may be cut between its words."""
    head = grid.head[index]
    words = [head] if whole or index not in grid.right else head.split()
    cells = [row[index] for row in grid.rows]
    return max((columns_of(each) for each in (*words, *cells)), default=0)


def _squeeze(widths: list[int], grid: Grid) -> None:
    """Make the widest columns of words narrower until the row fits."""
    over = _columns(widths) - COLUMNS
    words = [index for index in range(len(widths)) if index not in grid.right]
    while over > 0 and words:
        widest = max(words, key=widths.__getitem__)
        if widths[widest] <= 16:
            return
        widths[widest] -= 1
        over -= 1


def _row(cells: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> list[str]:
    parts = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for at in range(max(map(len, parts))):
        padded = [
            _padded(part[at] if at < len(part) else "", width, left=index in right)
            for index, (part, width) in enumerate(zip(parts, widths, strict=True))
        ]
        lines.append("  " + _GAP.join(padded))
    return lines


def _rule(widths: Sequence[int]) -> str:
    return "  " + _GAP.join("─" * width for width in widths)


def _padded(text: str, width: int, *, left: bool = False) -> str:
    space = " " * max(0, width - columns_of(text))
    return space + text if left else text + space
