"""What a placement has to carry."""

from enum import StrEnum

import msgspec

from proa.errors import FieldError


class Limit(StrEnum):
    """What an arrangement runs out of first as sessions are added."""

    MEMORY = "memory"
    SPEED = "speed"
    TTFT = "ttft"


class NeedSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions at once, of so much context each, at a speed that each must see.

    A session's context is `input_tokens + output_tokens`, and every session is counted with all
    of it. None for a speed or a time to first token that nobody asked for: only memory counts.

    Raises:
        FieldError: a count below 1, or a speed or time that is not above 0.
    """

    sessions: int
    input_tokens: int
    output_tokens: int
    user_tokens_per_s: float | None = None
    ttft_p95_s: float | None = None

    def __post_init__(self) -> None:
        for field in ("sessions", "input_tokens", "output_tokens"):
            if getattr(self, field) < 1:
                raise FieldError(field, getattr(self, field), "a whole number from 1")
        for field in ("user_tokens_per_s", "ttft_p95_s"):
            value = getattr(self, field)
            if value is not None and not value > 0:
                raise FieldError(field, value, "a number above 0")

    @property
    def context_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens
