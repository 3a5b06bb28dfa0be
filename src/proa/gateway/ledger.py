"""Quotas of tenants over all workers: held when a request is let in, settled at its end.

    Ledger   one worker's: the shared accounts, their locks, the calendar
    Meter    one tenant: `admits` a request or answers it
    Hold     what an open request holds, until its one end

What is held stands in the worker's own row and vanishes with it; what was used stands in
the tenant's account. Reading both and adding is one step, under a lock of a byte of the
rows' file that the system gives back when its holder ends.
"""

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from proa.domain.outcome import Outcome
from proa.gateway.quota_answer import limit_lines, refusal
from proa.gateway.quota_tokens import OutputGuess, used_by, wanted
from proa.gateway.settings import GatewaySettings
from proa.gateway.tenancy import TenantEntry
from proa.routing.quota.account import cost, denial
from proa.routing.quota.periods import Moment, Periods
from proa.routing.quota.used import Held, Kind, Used
from proa.telemetry.rows import SharedRows, Tenant

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

_NOTHING = Held()
_REFUSED = {
    "rate_limit_exceeded": Tenant.REFUSED_RATE,
    "insufficient_quota": Tenant.REFUSED_QUOTA,
    "budget_exhausted": Tenant.REFUSED_BUDGET,
}


class Ledger:
    """The accounts as one worker sees them; `equip` gives tenants their meters."""

    def __init__(self, rows: SharedRows, row_index: int) -> None:
        self.rows = rows
        self.row = rows.rows[row_index]
        self.periods = Periods(ZoneInfo("UTC"))
        self._guesses: dict[str, OutputGuess] = {}

    def equip(self, tenants: Iterable[TenantEntry], settings: GatewaySettings) -> None:
        """Meters for those with a quota, and for all where usage is to be counted."""
        self.periods = Periods(ZoneInfo(settings.time_zone))
        for tenant in tenants:
            if tenant.spec.quota.is_limited or settings.counts_usage:
                guess = self._guesses.setdefault(tenant.spec.name, OutputGuess())
                tenant.meter = Meter(self, tenant, guess)

    def moment(self, exchange: "Exchange") -> Moment:
        plane = exchange.plane
        return self.periods.at(plane.wall_clock(), plane.clock())

    @contextmanager
    def locked(self, slot: int) -> Iterator[None]:
        """Alone with a tenant's account, over all workers."""
        descriptor = self.rows.descriptor
        fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, slot)
        try:
            yield
        finally:
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, slot)


class Meter:
    """One tenant's quotas in one generation of settings."""

    def __init__(self, ledger: Ledger, tenant: TenantEntry, guess: OutputGuess) -> None:
        self.guess = guess
        self._ledger = ledger
        self._slot = tenant.slot
        self._base = tenant.base
        self._quota = tenant.spec.quota
        self._account = ledger.rows.account(tenant.slot)
        self._is_limited = self._quota.is_limited

    def admits(self, exchange: "Exchange") -> bool:
        """Hold what the request may use; False where it is answered with what is used up."""
        if exchange.hold is not None or exchange.head.method != b"POST":
            return True
        ledger, base = self._ledger, self._base
        want, moment = wanted(exchange, self.guess), ledger.moment(exchange)
        with ledger.locked(self._slot):
            self._account.turn(moment)
            found = self._used(moment)
            refused = denial(found)
            if refused is None:
                self._account.came(moment)
                ledger.row[base + Tenant.HELD_INPUT] += want.input
                ledger.row[base + Tenant.HELD_OUTPUT] += want.output
        exchange.told_id += self._lines(found, moment, want if refused is None else None)
        if refused is None:
            exchange.hold = Hold(self, want)
            return True
        ledger.row[base + _REFUSED[refused.kind.code]] += 1
        refusal(exchange, refused, self._quota)
        return False

    def settle(self, exchange: "Exchange", hold: Held, outcome: Outcome) -> None:
        """What was held has become what was used."""
        ledger, row, base = self._ledger, self._ledger.row, self._base
        used, moment = used_by(exchange, hold, outcome), ledger.moment(exchange)
        price = cost(self._quota.budget, used.input, used.output)
        with ledger.locked(self._slot):
            self._account.turn(moment)
            self._account.settle(moment, used, price)
            row[base + Tenant.HELD_INPUT] -= hold.input
            row[base + Tenant.HELD_OUTPUT] -= hold.output
        row[base + Tenant.INPUT_TOKENS] += used.input
        row[base + Tenant.OUTPUT_TOKENS] += used.output
        row[base + Tenant.COST] += price

    def _used(self, moment: Moment) -> list[Used]:
        if not self._is_limited:
            return []
        in_flight, base = self._ledger.rows.in_flight, self._base
        held = Held(in_flight(base + Tenant.HELD_INPUT), in_flight(base + Tenant.HELD_OUTPUT))
        return self._account.used(self._quota, moment, held)

    def _lines(self, found: list[Used], moment: Moment, taken: Held | None) -> bytes:
        """The header lines of the limits per minute, with what this request has taken."""
        lines = b""
        for used in found:
            if used.kind is Kind.REQUESTS_PER_MINUTE:
                left = used.limit - used.used - (taken is not None)
                full_s = self._account.full_in_s(moment, requests=True)
                lines += limit_lines(b"requests", used.limit, left, full_s)
        tokens = [_left(used, taken or _NOTHING) for used in found if used.kind in _TAKEN]
        if tokens:
            left, limit = min(tokens)
            full_s = self._account.full_in_s(moment, requests=False)
            lines += limit_lines(b"tokens", limit, left, full_s)
        return lines


class Hold:
    """What one open request holds."""

    __slots__ = ("_held", "_meter")

    def __init__(self, meter: Meter, held: Held) -> None:
        self._meter = meter
        self._held = held

    def settle(self, exchange: "Exchange", outcome: Outcome) -> None:
        """Called once, in the exchange's only end."""
        self._meter.settle(exchange, self._held, outcome)


_TAKEN = {
    Kind.TOKENS_PER_MINUTE: (1, 1),
    Kind.INPUT_TOKENS_PER_MINUTE: (1, 0),
    Kind.OUTPUT_TOKENS_PER_MINUTE: (0, 1),
}


def _left(used: Used, taken: Held) -> tuple[int, int]:
    """What is left of a limit, and the limit."""
    of_input, of_output = _TAKEN[used.kind]
    return used.limit - used.used - of_input * taken.input - of_output * taken.output, used.limit
