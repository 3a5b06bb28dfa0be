"""The live table of the demo, on standard error and only on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from proa.cli.demo.load import Phase

LINE_CHARACTERS = 100


class Board:
    """What is shown: a line of status, the phases so far, the latest answer."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self._phases: list[Phase] = []
        self._status = ""

    def show_status(self, text: str) -> None:
        self._status = text

    def add_phase(self, phase: "Phase") -> None:
        self._phases.append(phase)
        self._status = ""

    def render(self) -> Group:
        parts: list[Table | Text] = [self._table()] if self._phases else []
        if self._status:
            parts.append(Text(self._status, style="dim"))
        elif latest := self._latest():
            parts.append(latest)
        return Group(*parts)

    def _table(self) -> Table:
        texts = self.texts
        table = Table(title=texts["title"], title_justify="left")
        table.add_column(texts["column_phase"])
        for name in ("column_answered", "column_running", "column_speed"):
            table.add_column(texts[name], justify="right")
        for phase in self._phases:
            answered = f"{len(phase.answers)}"
            speed = f"{phase.tokens_per_s:.0f}"
            table.add_row(texts[f"phase_{phase.name}"], answered, f"{phase.running}", speed)
        return table

    def _latest(self) -> Text | None:
        answers = self._phases[-1].answers if self._phases else []
        if not answers:
            return None
        answer = answers[-1]
        line = f"{answer.engine} ← {answer.question.text}"[:LINE_CHARACTERS]
        said = answer.error or answer.text
        return Text(f"{line}\n  → {' '.join(said.split())[:LINE_CHARACTERS]}", style="dim")


@contextmanager
def live(board: Board) -> Iterator[None]:
    """Show the board while the context is open; without a terminal, nothing."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with Live(get_renderable=board.render, console=console, refresh_per_second=4, transient=True):
        yield
