"""What a run of `proa bench` shows while it runs: standard error, and only on a terminal."""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from proa.bench.listener import RunListener
from proa.bench.run import LevelVisit
from proa.bench.visit import VisitProgress
from proa.cli.texts import Texts
from proa.domain.load import EngineLoad


class Board(RunListener):
    """One line that changes; use it as a context."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._console = Console(stderr=True)
        self._status = Status("", console=self._console)
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self._shown:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._status.stop()

    def phase(self, name: str) -> None:
        if self._shown:
            self._status.update(self._texts.say(f"phase_{name}"))

    def progress(self, told: VisitProgress) -> None:
        if not self._shown:
            return
        key = "warming" if told.measured is None else "measuring"
        self._status.update(
            self._texts.say(
                key,
                level=_level(told.label.users, told.label.rate, self._texts),
                on_wire=told.on_wire,
                measured=told.measured or 0,
                failed=told.failed,
            )
        )

    def visit(self, visit: LevelVisit, engines: Sequence[EngineLoad | None]) -> None:
        del engines
        if self._shown:
            level = _level(visit.level.users, visit.level.rate, self._texts)
            done = self._texts.say("visited", level=level, requests=visit.stats.requests)
            self._console.print(done, highlight=False)


def _level(users: int | None, rate: float | None, texts: Texts) -> str:
    if users is not None:
        return texts.say("users_level", users=users)
    return texts.say("trace_level") if rate is None else texts.say("rate_level", rate=rate)
