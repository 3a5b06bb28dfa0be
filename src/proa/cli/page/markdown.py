"""A page as Markdown."""

from proa.cli.page.blocks import Block, Bullets, Code, Grid, Page, Plot, Prose, Quote


def markdown_page(page: Page) -> str:
    """The page, with a line end at its end."""
    parts = [f"# {page.title}", f"*{page.status}*"]
    parts.append(_grid(Grid(("", ""), page.lead)))
    for section in page.sections:
        blocks = [_block(block) for block in section.blocks if not isinstance(block, Plot)]
        if blocks:
            parts += [f"## {section.title}", *blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Prose(text, strong):
            return f"**{_escaped(text)}**" if strong else _escaped(text)
        case Grid():
            return _grid(block)
        case Bullets(items, warns):
            mark = "**!** " if warns else ""
            return "\n".join(f"- {mark}{_escaped(item)}" for item in items)
        case Code(text):
            return f"```\n{text.rstrip()}\n```"
        case Quote(text):
            return "\n".join(f"> {_escaped(line)}".rstrip() for line in text.split("\n"))
        case _:
            return ""


def _grid(grid: Grid) -> str:
    rules = ["---:" if index in grid.right else "---" for index in range(len(grid.head))]
    rows = [
        [f"**{cell}**" if cell and index == grid.marked else cell for cell in map(_cell, row)]
        for index, row in enumerate(grid.rows)
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [map(_cell, grid.head), rules, *rows])


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|").replace("\n", "<br>")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")
