"""What clients are told of their tenant's quotas: header lines, and the answer to one too many."""

from math import ceil
from typing import TYPE_CHECKING

from proa.domain.tenant import QuotaSpec
from proa.routing.quota.used import MICRO, Kind, Used

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

_NO_RETRY = b"x-should-retry: false\r\n"
_WAIT_FOR_OPEN_S = 1
_LIMIT = b"\r\nx-ratelimit-limit-%b: %d"
_LEFT = b"\r\nx-ratelimit-remaining-%b: %d"
_RESET = b"\r\nx-ratelimit-reset-%b: %b"


def limit_lines(what: bytes, limit: int, left: int, full_in_s: float) -> bytes:
    """The three lines of one limit, each behind a line's end."""
    line = _LIMIT + _LEFT + _RESET
    return line % (what, limit, what, max(0, left), what, duration(full_in_s))


def duration(seconds: float) -> bytes:
    """As OpenAI writes it: `20ms`, `1s`, `8.64s`, `6m0s`, `1h0m30s`; rounded up."""
    ms = ceil(seconds * 1000)
    if 0 < ms < 1000:
        return b"%dms" % ms
    minutes, ms = divmod(ms, 60_000)
    text = f"{ms / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = (f"{hours}h" if hours else "") + f"{minutes}m{text}"
    return text.encode()


def refusal(exchange: "Exchange", reached: Used, quota: QuotaSpec) -> None:
    """429, with the limit that passes last.

    Official clients try again by themselves; where that would be in vain for a day or
    more, they are told not to.
    """
    wait_s = reached.passes_in_s
    retry_after_s = _WAIT_FOR_OPEN_S if wait_s is None else max(1, ceil(wait_s))
    code = reached.kind.code
    headers = b"" if code == "rate_limit_exceeded" else _NO_RETRY
    told = f"The tenant of this key has reached its limit {_limit(reached, quota)}"
    exchange.refuse(
        429, f"{told}; it passes in {retry_after_s} s", code,
        headers=headers, retry_after_s=retry_after_s,
    )  # fmt: skip


def _limit(reached: Used, quota: QuotaSpec) -> str:
    if reached.kind is Kind.BUDGET and quota.budget is not None:
        return f"budget.per_month = {reached.limit / MICRO:g} {quota.budget.currency}"
    return f"{reached.kind.value} = {reached.limit}"
