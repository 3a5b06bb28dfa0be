"""Who goes first: a key that workers can compare without knowing each other's queues."""

OrderKey = tuple[int, float]


def order_key(rank: int, arrived_s: float, now_s: float, ageing_s: float) -> OrderKey:
    """The smaller key goes first.

    Before `ageing_s` have passed, classes go in their order and each by age. Who has
    waited longer goes before everybody who has not; among those a class is worth
    `ageing_s` of waiting per step, so that under lasting overload classes neither
    starve nor become all alike.
    """
    if now_s - arrived_s >= ageing_s:
        return -1, arrived_s + rank * ageing_s
    return rank, arrived_s
