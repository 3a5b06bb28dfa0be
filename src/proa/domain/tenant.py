"""What a tenant may use up: numbers of requests, of tokens, and money."""

import msgspec

DEFAULT_TENANT = "default"
"""The tenant of keys that name none; it is there without being configured."""


class BudgetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Money per calendar month, and what a million tokens cost, all in one `currency`."""

    per_month: float
    currency: str = "KRW"
    per_million_input_tokens: float = 0.0
    per_million_output_tokens: float = 0.0


class QuotaSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The quotas of one tenant over all its keys; 0 is no limit.

    `tokens_per_…` counts input and output together.
    """

    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    input_tokens_per_minute: int = 0
    output_tokens_per_minute: int = 0
    tokens_per_day: int = 0
    tokens_per_month: int = 0
    budget: BudgetSpec | None = None

    @property
    def is_limited(self) -> bool:
        """Whether anything is counted against a limit at all."""
        return self != _UNLIMITED


_UNLIMITED = QuotaSpec()
