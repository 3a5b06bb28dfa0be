"""What a worker knows of all engines at the moment of a choice."""

from collections.abc import Sequence

from proa.domain.lengths import CLASS_BY_BITS, LAST_BITS, LIMIT_CLASSES
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
    `limits_in_flight` are the tokens that own requests' answers can have together.
    `waiting_bytes` are the bodies of own requests whose answer has not begun.
    `shares` is the part of its traffic that an engine may get, 0 for an open breaker.
    `views` is what the control plane last said; from it come `speeds` and
    `outlooks`, the mean `output_tokens` of a request, what `expected_tokens` knows of limits,
    whether it `knows_speeds` of any engine, and `unseen`, engines whose speed was not seen lately.
    `now_s` is coarse and monotonic.
    """

    __slots__ = (
        "_unlimited_tokens",
        "_use_by_bits",
        "foreign",
        "in_flight",
        "knows_speeds",
        "limits_in_flight",
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
        self.limits_in_flight: Sequence[int] = [0] * engines
        self.foreign: Sequence[int] = [0] * engines
        self.waiting_bytes: Sequence[int] = [0] * engines
        self.shares: list[float] = [1.0] * engines
        self.views: Sequence[EngineLoadView] = [NOTHING_KNOWN] * engines
        self.speeds: Sequence[Speed] = [NOBODY_KNOWS] * engines
        self.outlooks: Sequence[Outlook] = [outlook(NOBODY_KNOWS, 0)] * engines
        self.knows_speeds = False
        self.unseen: frozenset[int] = frozenset()
        self.output_tokens = DEFAULT_OUTPUT_TOKENS
        self._learned_use(())
        self.now_s = 0.0

    def apply(self, view: LoadView, names: Sequence[str]) -> None:
        """Take in a new view for engines in the order of `names`."""
        by_name = {engine.name: engine for engine in view.engines}
        self.views = [by_name.get(name, NOTHING_KNOWN) for name in names]
        self.foreign = [engine.foreign for engine in self.views]
        self.speeds = speeds_of(self.views)
        self.outlooks = list(map(outlook, self.speeds, self.foreign))
        self.output_tokens = mean_output(self.views)
        self._learned_use(view.limit_use)
        self.knows_speeds = any(engine.timing is not None for engine in self.views)
        self.unseen = frozenset(
            index
            for index, engine in enumerate(self.views)
            if engine.timing is not None and engine.timing.age_s >= UNSEEN_S
        )

    def expected_tokens(self, limit: int | None) -> float:
        """The tokens of an answer that its client limits to `limit`.

        As large a part of the limit as answers to limits like it have used of late. Where
        that is not known, the mean of all answers, or the limit where it is lower.
        """
        if limit is None:
            return self._unlimited_tokens or self.output_tokens
        use, mean = self._use_by_bits[limit.bit_length() & LAST_BITS], self.output_tokens
        if use:
            return use * limit
        return min(limit, mean)

    def _learned_use(self, use: Sequence[float]) -> None:
        known = use or (0.0,) * LIMIT_CLASSES
        self._unlimited_tokens = known[0]
        self._use_by_bits = [known[of_class] for of_class in CLASS_BY_BITS]
