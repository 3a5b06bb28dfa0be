"""How many requests each engine may have at one time, and which engines have room."""

from collections.abc import Sequence

from proa.domain.load import EngineLoadView
from proa.gateway.link import NO_CAP, EngineLink


class Places:
    """The caps of one worker's engines; they stand on the links and outlive dispatchers.

    `is_limited` is false while nobody can lack a place. Counts are over all workers.
    """

    def __init__(self) -> None:
        self.is_limited = False
        self.total = 0  # of all engines together, 0 for no limit

    def apply(self, links: Sequence[EngineLink], views: Sequence[EngineLoadView]) -> None:
        """Take in what is known of the engines now."""
        for link, view in zip(links, views, strict=True):
            link.cap = _cap(link.spec.max_concurrent_requests, view)
        self.is_limited = bool(self.total) or any(link.cap < NO_CAP for link in links)

    def free(
        self,
        links: Sequence[EngineLink],
        pool: Sequence[int],
        in_flight: Sequence[int],
        shares: Sequence[float],
    ) -> list[int]:
        """The engines of `pool` with room.

        Those that a breaker holds back count only where all are: with a healthy engine
        in the pool, its place is worth waiting for.
        """
        if self.total and sum(in_flight) >= self.total:
            return []
        usable = [i for i in pool if shares[i] > 0.0] or pool
        return [i for i in usable if in_flight[i] < links[i].cap]


def _cap(configured: int, view: EngineLoadView) -> int:
    """What is configured is for our requests; what an engine can do is shared with others."""
    if configured:
        return configured
    if view.max_concurrent is None:
        return NO_CAP
    return max(1, view.max_concurrent - view.foreign)
