"""What a worker knows of all engines at the moment of a choice."""

from collections.abc import Sequence

from proa.domain.load import EngineLoadView, LoadView

NOTHING_KNOWN = EngineLoadView(name="")


class Loads:
    """Parallel lists by engine index; the owner keeps them fresh, policies only read.

    `in_flight` are own requests over all workers, `foreign` those of other clients;
    `shares` is the part of its traffic that an engine may get, 0 for an open breaker.
    `views` is what the control plane last said. `now_s` is coarse and monotonic.
    """

    __slots__ = ("foreign", "in_flight", "now_s", "shares", "views")

    def __init__(self, engines: int) -> None:
        self.in_flight: Sequence[int] = [0] * engines
        self.foreign: Sequence[int] = [0] * engines
        self.shares: list[float] = [1.0] * engines
        self.views: Sequence[EngineLoadView] = [NOTHING_KNOWN] * engines
        self.now_s = 0.0

    def apply(self, view: LoadView, names: Sequence[str]) -> None:
        """Take in a new view for engines in the order of `names`."""
        by_name = {engine.name: engine for engine in view.engines}
        self.views = [by_name.get(name, NOTHING_KNOWN) for name in names]
        self.foreign = [engine.foreign for engine in self.views]
