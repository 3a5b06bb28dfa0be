"""A page as one HTML file: style and pictures inside, nothing fetched."""

import pkgutil
from html import escape

from proa.cli.page.blocks import Block, Bullets, Code, Grid, Page, Plot, Prose, Quote

_SHORT = 18


def html_page(page: Page, *, footer: str, look: str = "", style: str = "", data: str = "") -> str:
    """The whole document; `look` is a class of its status, `style` and `data` are put in as well.

    Light or dark as the reader's screen is, and fit for printing.
    """
    style = (pkgutil.get_data(__package__, "page.css") or b"").decode() + style
    mark = f"status {look}".rstrip()
    parts = [
        f'<!doctype html>\n<html lang="{page.language}">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(page.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>",
        f'<header><h1>{escape(page.title)}</h1><span class="{mark}">{escape(page.status)}</span>',
        "</header>",
        _lead(page.lead),
    ]
    for section in page.sections:
        parts.append(f"<section><h2>{escape(section.title)}</h2>")
        parts += [_block(block) for block in section.blocks]
        parts.append("</section>")
    parts.append(f"<footer>{escape(footer)}</footer>\n{data}</body>\n</html>\n")
    return "\n".join(parts)


def _lead(lead: tuple[tuple[str, str], ...]) -> str:
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(told)}</dd></div>" for name, told in lead
    )
    return f'<dl class="lead">{rows}</dl>'


def _block(block: Block) -> str:
    match block:
        case Prose(text, strong):
            told = escape(text).replace("\n", "<br>")
            return f"<p><strong>{told}</strong></p>" if strong else f"<p>{told}</p>"
        case Grid():
            return _grid(block)
        case Bullets(items, warns):
            rows = "".join(f"<li>{escape(item)}</li>" for item in items)
            return f'<ul class="warns">{rows}</ul>' if warns else f"<ul>{rows}</ul>"
        case Code(text):
            return f"<pre>{escape(text)}</pre>"
        case Quote(text, language):
            return f'<blockquote lang="{language}">{escape(text)}</blockquote>'
        case Plot(svg, caption):
            return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _grid(grid: Grid) -> str:
    rows = "\n".join(
        f"<tr{' class=marked' if index == grid.marked else ''}>{_cells(row, grid.right, 'td')}</tr>"
        for index, row in enumerate(grid.rows)
    )
    head = (
        f"<thead><tr>{_cells(grid.head, grid.right, 'th')}</tr></thead>" if any(grid.head) else ""
    )
    return f'<div class="scroll"><table>{head}<tbody>\n{rows}\n</tbody></table></div>'


def _look(cell: str, is_number: bool) -> str:
    """Numbers stand right; short words are not cut."""
    if is_number:
        return " class=n"
    return " class=s" if len(cell) <= _SHORT else ""


def _cells(cells: tuple[str, ...], right: frozenset[int], tag: str) -> str:
    return "".join(
        f"<{tag}{_look(cell, index in right)}>{escape(cell)}</{tag}>"
        for index, cell in enumerate(cells)
    )
