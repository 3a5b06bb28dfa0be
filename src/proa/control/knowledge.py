"""What the rest of proa knows of engines, asked for whenever a view is made."""

from collections.abc import Callable, Mapping

from proa.control.traffic import EngineTraffic, traffic_in
from proa.domain.fleet import EngineSpec, EngineView
from proa.domain.timing import EngineTiming
from proa.telemetry.rows import SharedRows


class Knowledge:
    """Knows nothing of any engine; the base of what does."""

    def traffic(self, name: str) -> EngineTraffic:
        """What the data plane sends to an engine at this moment."""
        del name
        return EngineTraffic()

    def timing(self, spec: EngineSpec, engine: EngineView) -> EngineTiming | None:
        """How fast an engine is, None while nothing tells it."""
        del spec, engine
        return None

    def limit_use(self) -> tuple[float, ...]:
        """What part of their limit answers have, by class; empty while nothing tells it."""
        return ()


class WorkersKnowledge(Knowledge):
    """What the workers count in the shared rows; `slots` gives each engine's place there."""

    def __init__(self, rows: SharedRows, slots: Callable[[], Mapping[str, int]]) -> None:
        self._rows = rows
        self._slots = slots

    def traffic(self, name: str) -> EngineTraffic:
        slot = self._slots().get(name)
        return EngineTraffic() if slot is None else traffic_in(self._rows, slot)
