"""Who goes first: a key that workers can compare without knowing each other's queues."""

ClassKey = tuple[int, float]
OrderKey = tuple[ClassKey, int, float]
"""The class's place, in it the tenant's virtual time, then the age."""


def class_key(rank: int, oldest_s: float, now_s: float, ageing_s: float) -> ClassKey:
    """The class with the smaller key goes first; `oldest_s` is when its oldest arrived.

    Before `ageing_s` have passed, classes go in their order. One whose oldest has
    waited longer goes before all that have not; among those a class is worth
    `ageing_s` of waiting per step, so that under lasting overload classes neither
    starve nor become all alike.
    """
    if now_s - oldest_s >= ageing_s:
        return -1, oldest_s + rank * ageing_s
    return rank, oldest_s
