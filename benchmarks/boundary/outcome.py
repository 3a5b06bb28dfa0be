"""What a search says, and what it took."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """The boundary is `estimate`, within [low, high]; requests include those of the warm-up."""

    estimate: int
    low: int
    high: int
    requests: int
    visits: int
