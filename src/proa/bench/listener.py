"""Who is told of a run as it goes: the file that keeps it, the line that shows it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proa.bench.gauge_stats import GaugeSample
from proa.bench.process_messages import Tick
from proa.bench.raw import RawExchange
from proa.bench.sample import RequestSample
from proa.domain.load import EngineLoad

if TYPE_CHECKING:
    from proa.bench.decode import VisitLabel
    from proa.bench.run import LevelVisit, RunStart


class RunListener:
    """Each method does nothing unless it is overridden, and must be quick."""

    def phase(self, name: str) -> None:
        """`prepare`, `self_check` or `level` begins."""

    def started(self, start: "RunStart") -> None:
        """Targets are prepared and the client has been tried."""

    def level(
        self, label: "VisitLabel", begin_s: float, engines: Sequence[EngineLoad | None]
    ) -> None:
        """A visit begins, with what the engines told before it."""

    def raw(self, raw: RawExchange) -> None:
        """A request ended; its bytes are not kept."""

    def sample(self, sample: RequestSample) -> None:
        """The same request, read; whether it counts is not yet known."""

    def tick(self, tick: Tick) -> None:
        """A client process told how it is."""

    def gauges(self, samples: list[GaugeSample]) -> None:
        """Engines and GPUs told of themselves."""

    def visit(self, visit: "LevelVisit", engines: Sequence[EngineLoad | None]) -> None:
        """A visit ended, with what the engines told after it."""


class Listeners(RunListener):
    """Tells several."""

    def __init__(self, *all_of: RunListener) -> None:
        self._all = all_of

    def phase(self, name: str) -> None:
        for each in self._all:
            each.phase(name)

    def started(self, start: "RunStart") -> None:
        for each in self._all:
            each.started(start)

    def level(
        self, label: "VisitLabel", begin_s: float, engines: Sequence[EngineLoad | None]
    ) -> None:
        for each in self._all:
            each.level(label, begin_s, engines)

    def raw(self, raw: RawExchange) -> None:
        for each in self._all:
            each.raw(raw)

    def sample(self, sample: RequestSample) -> None:
        for each in self._all:
            each.sample(sample)

    def tick(self, tick: Tick) -> None:
        for each in self._all:
            each.tick(tick)

    def gauges(self, samples: list[GaugeSample]) -> None:
        for each in self._all:
            each.gauges(samples)

    def visit(self, visit: "LevelVisit", engines: Sequence[EngineLoad | None]) -> None:
        for each in self._all:
            each.visit(visit, engines)
