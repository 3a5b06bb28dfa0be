"""What a worker knows of all engines at the moment of a choice."""

from collections.abc import Sequence

from proa.domain.load import EngineLoadView, LoadView
from proa.routing.speeds import (
    DEFAULT_OUTPUT_TOKENS,
    NOBODY_KNOWS,
    UNSEEN_S,
    Outlook,
    Speed,
    mean_output,
    outlook,
    speeds_of,
)

NOTHING_KNOWN = EngineLoadView(name="")


class Loads:
    """Parallel lists by engine index; the owner keeps them fresh, policies only read.

    `in_flight` are own requests over all workers, `foreign` those of other clients;
    `waiting_bytes` are the bodies of own requests whose answer has not begun.
    `shares` is the part of its traffic that an engine may get, 0 for an open breaker.
    `views` is what the control plane last said; from it come `speeds` and
    `outlooks`, the mean `output_tokens` of a request, and `unseen`, engines whose speed was
    not seen lately.
    `now_s` is coarse and monotonic.
    """

    __slots__ = (
        "foreign",
        "in_flight",
        "now_s",
        "outlooks",
        "output_tokens",
        "shares",
        "speeds",
        "unseen",
        "views",
        "waiting_bytes",
    )

    def __init__(self, engines: int) -> None:
        self.in_flight: Sequence[int] = [0] * engines
        self.foreign: Sequence[int] = [0] * engines
        self.waiting_bytes: Sequence[int] = [0] * engines
        self.shares: list[float] = [1.0] * engines
        self.views: Sequence[EngineLoadView] = [NOTHING_KNOWN] * engines
        self.speeds: Sequence[Speed] = [NOBODY_KNOWS] * engines
        self.outlooks: Sequence[Outlook] = [outlook(NOBODY_KNOWS, 0)] * engines
        self.unseen: frozenset[int] = frozenset()
        self.output_tokens = DEFAULT_OUTPUT_TOKENS
        self.now_s = 0.0

    def apply(self, view: LoadView, names: Sequence[str]) -> None:
        """Take in a new view for engines in the order of `names`."""
        by_name = {engine.name: engine for engine in view.engines}
        self.views = [by_name.get(name, NOTHING_KNOWN) for name in names]
        self.foreign = [engine.foreign for engine in self.views]
        self.speeds = speeds_of(self.views)
        self.outlooks = list(map(outlook, self.speeds, self.foreign))
        self.output_tokens = mean_output(self.views)
        self.unseen = frozenset(
            index
            for index, engine in enumerate(self.views)
            if engine.timing is not None and engine.timing.age_s >= UNSEEN_S
        )
