"""What a run of `proa bench` shows while it runs."""

from collections.abc import Sequence

from proa.bench.listener import RunListener
from proa.bench.run import LevelVisit
from proa.bench.visit import VisitProgress
from proa.cli.bench.session import StatusLine
from proa.cli.texts import Texts
from proa.domain.load import EngineLoad


class Board(RunListener):
    """Says on a line where the run is, and leaves a line for each visit."""

    def __init__(self, line: StatusLine, texts: Texts) -> None:
        self._line = line
        self._texts = texts

    def phase(self, name: str) -> None:
        self._line.say(self._texts.say(f"phase_{name}"))

    def progress(self, told: VisitProgress) -> None:
        """How far the visit is."""
        key = "warming" if told.measured is None else "measuring"
        said = self._texts.say(
            key,
            level=_level(told.label.users, told.label.rate, self._texts),
            on_wire=told.on_wire,
            measured=told.measured or 0,
            failed=told.failed,
        )
        self._line.say(said)

    def visit(self, visit: LevelVisit, engines: Sequence[EngineLoad | None]) -> None:
        del engines
        level = _level(visit.level.users, visit.level.rate, self._texts)
        self._line.note(self._texts.say("visited", level=level, requests=visit.stats.requests))


def _level(users: int | None, rate: float | None, texts: Texts) -> str:
    if users is not None:
        return texts.say("users_level", users=users)
    return texts.say("trace_level") if rate is None else texts.say("rate_level", rate=rate)
