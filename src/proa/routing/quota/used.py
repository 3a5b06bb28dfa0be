"""The limits that a tenant may have, and what is told of each."""

from enum import Enum
from typing import NamedTuple

MICRO = 1_000_000
"""Money is counted in millionths of its unit: a token's price is then that of a million."""


class Kind(Enum):
    """The limits, by their names in proa.toml."""

    REQUESTS_PER_MINUTE = "requests_per_minute"
    TOKENS_PER_MINUTE = "tokens_per_minute"
    INPUT_TOKENS_PER_MINUTE = "input_tokens_per_minute"
    OUTPUT_TOKENS_PER_MINUTE = "output_tokens_per_minute"
    TOKENS_PER_DAY = "tokens_per_day"
    TOKENS_PER_MONTH = "tokens_per_month"
    BUDGET = "budget.per_month"

    @property
    def code(self) -> str:
        """The code of the error that tells of it."""
        if self is Kind.BUDGET:
            return "budget_exhausted"
        return "rate_limit_exceeded" if self.value.endswith("minute") else "insufficient_quota"


class Held(NamedTuple):
    """Tokens: those that open requests may still use, or one has used."""

    input: int = 0
    output: int = 0


class Used(NamedTuple):
    """One limit, in its own unit (money in millionths), and how much of it is used and held.

    `passes_in_s` tells when less than the limit is used; None if only open requests know.
    """

    kind: Kind
    limit: int
    used: int
    passes_in_s: float | None

    @property
    def is_reached(self) -> bool:
        return self.used >= self.limit


class DayCount(NamedTuple):
    """What a tenant used on one day; `cost` in millionths."""

    day: int
    requests: int
    input: int
    output: int
    cost: int


class Elsewhere(NamedTuple):
    """What other gateways, or this one before it started, used; `until_s` bounds the minute."""

    day: int = 0
    day_tokens: int = 0
    month: int = 0
    month_tokens: int = 0
    month_cost: int = 0
    requests: int = 0
    input: int = 0
    output: int = 0
    held_input: int = 0
    held_output: int = 0
    until_s: int = 0
