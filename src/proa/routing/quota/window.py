"""The last minute, counted by seconds in a ring of cells.

Cell 0 is the newest second, then a cell for each of `RING` seconds. A second counts until
the whole of it is more than a minute ago, so that no window of 60 s ever has more than what
was let in; what is counted may be up to one second older than a minute.
"""

from collections.abc import Sequence

MINUTE_S = 60
RING = MINUTE_S + 1
RING_CELLS = 1 + RING


def advance(ring: memoryview, second: int) -> None:
    """Forget what is too old at `second`; a second before the newest changes nothing."""
    newest = ring[0]
    if second <= newest:
        return
    for passed in range(max(newest + 1, second - MINUTE_S), second + 1):
        ring[1 + passed % RING] = 0
    ring[0] = second


def book(ring: memoryview, count: int) -> None:
    """Count in the newest second."""
    ring[1 + ring[0] % RING] += count


def booked(ring: memoryview) -> int:
    """What the last minute has."""
    return sum(ring[1:])


def passes_in_s(rings: Sequence[memoryview], now_s: float, limit: int, held: int) -> float | None:
    """Seconds until the rings together are below `limit`, if nothing is added and `held` stays.

    None where `held` alone reaches the limit. All rings must be advanced to one second.
    """
    newest = rings[0][0]
    left = held + sum(map(booked, rings))
    if left < limit:
        return 0.0
    for second in range(newest - MINUTE_S, newest + 1):
        left -= sum(ring[1 + second % RING] for ring in rings)
        if left < limit:
            return max(0.0, second + RING - now_s)
    return None


def empty_in_s(rings: Sequence[memoryview], now_s: float) -> float:
    """Seconds until the rings are empty, if nothing is added."""
    newest = rings[0][0]
    for second in range(newest, newest - RING, -1):
        if any(ring[1 + second % RING] for ring in rings):
            return max(0.0, second + RING - now_s)
    return 0.0
