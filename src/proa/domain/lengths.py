"""Clients' limits on their answers in classes, so that what answers make of them can be counted.

Class 0 are requests that name no limit: they count as limited to one token, so that
what they use of it is the length of their answers. Class 1 is up to 31 tokens, each
further one twice as much; the last has no end.
"""

LIMIT_CLASSES = 12
_SMALLEST_BITS = 5
LAST_BITS = 63
"""A mask for indexes in `CLASS_BY_BITS`; what needs more bits is no limit, but nonsense."""
UNLIMITED = 2**20
"""The highest limit that is told apart; in a sum of limits, one that is not named counts as it."""


def limit_class(limit: int | None) -> int:
    """The class of a limit."""
    return 0 if limit is None else CLASS_BY_BITS[limit.bit_length() & LAST_BITS]


def typical_limit(of_class: int) -> int:
    """The middle of a class; of the last one its beginning."""
    return 3 << (of_class + _SMALLEST_BITS - 3) if of_class else 1


CLASS_BY_BITS = tuple(
    min(max(bits - _SMALLEST_BITS + 1, 1), LIMIT_CLASSES - 1) for bits in range(LAST_BITS + 1)
)
