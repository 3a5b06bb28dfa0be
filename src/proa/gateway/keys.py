"""API keys: who a request belongs to, and how many requests that key has open."""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from proa.domain.outcome import Outcome
from proa.gateway.settings import KeySpec, TenantSpec
from proa.gateway.tenancy import TenantEntry
from proa.telemetry.rows import Key, key_base

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange
    from proa.gateway.plane import DataPlane

_REQUESTS = Key.REQUESTS - Key.IN_FLIGHT
_NEVER_S = float("inf")
DEMAND = b'www-authenticate: Bearer realm="proa"\r\n'


class Denied(NamedTuple):
    """Why a known key does not let a request in now."""

    status: int
    message: str
    code: str | None = None
    headers: bytes = b""


_EXPIRED = Denied(401, "this API key has expired", "expired_api_key", DEMAND)


class KeyEntry:
    """A configured key with its cells in the shared rows.

    `tenant` is None where its tenant has no settings, `gate` is the tenant where that may not
    use everything, `meter` what counts that it uses.
    """

    def __init__(self, spec: KeySpec, slot: int, tenant: TenantEntry | None = None) -> None:
        self.spec = spec
        self.max_concurrent_requests = spec.max_concurrent_requests
        self.tenant = tenant
        self.gate = tenant if tenant is not None and tenant.restricts else None
        self.meter = None if tenant is None else tenant.meter
        self._base = key_base(slot) + Key.IN_FLIGHT

    def enter(self, plane: "DataPlane") -> Denied | None:
        """Take a place under the key's cap, over all workers; else why not."""
        row, base, others = plane.row, self._base, plane.other_rows
        mine, cap = row[base], self.max_concurrent_requests
        if cap and mine + (sum([row[base] for row in others]) if others else 0) >= cap:
            return _full("key", cap)
        row[base] = mine + 1
        row[base + _REQUESTS] += 1
        return None

    def leave(self, exchange: "Exchange", outcome: Outcome) -> None:
        """Give the place back; called once, in the exchange's only end."""
        exchange.plane.row[self._base] -= 1


class BoundKeyEntry(KeyEntry):
    """A key that ends or whose tenant is counted; others are not asked about it."""

    def __init__(self, spec: KeySpec, slot: int, tenant: TenantEntry | None = None) -> None:
        super().__init__(spec, slot, tenant)
        self._expires_s = _NEVER_S if spec.expires_s is None else spec.expires_s

    def enter(self, plane: "DataPlane") -> Denied | None:
        """The key's time, its tenant's cap, its own cap."""
        if self._expires_s <= plane.wall_now_s:
            return _EXPIRED
        tenant = self.tenant
        if tenant is not None and not tenant.enter(plane):
            return _full("tenant of this key", tenant.spec.max_concurrent_requests)
        denied = super().enter(plane)
        if denied is not None and tenant is not None:
            tenant.leave(plane)
        return denied

    def leave(self, exchange: "Exchange", outcome: Outcome) -> None:
        super().leave(exchange, outcome)
        if self.tenant is not None:
            self.tenant.leave(exchange.plane)
        if exchange.hold is not None:
            exchange.hold.settle(exchange, outcome)


def _full(whose: str, cap: int) -> Denied:
    article = "this" if whose == "key" else "the"
    return Denied(429, f"{article} {whose} may have {cap} requests open at one time")


class KeyRing:
    """All keys by the SHA-256 of their text.

    The text of a key is 256 bits of chance, so one hash without salt hides it, and
    looking up a digest tells nothing about the digests that are stored; the last
    comparison is constant-time all the same.
    """

    def __init__(
        self, specs: tuple[KeySpec, ...], slots: dict[str, int],
        tenants: Mapping[str, TenantEntry] | None = None,
    ) -> None:  # fmt: skip
        self._by_digest: dict[bytes, KeyEntry] = {}
        for spec in specs:
            tenant = (tenants or {}).get(spec.tenant)
            for each in with_old(spec):
                is_bound = tenant is not None or each.expires_s is not None
                entry = BoundKeyEntry if is_bound else KeyEntry
                self._by_digest[each.digest] = entry(each, slots[spec.name], tenant)

    @staticmethod
    def credential(fields: dict[bytes, bytes]) -> bytes | None:
        """The key that a request carries, as `Authorization: Bearer` or `x-api-key`."""
        authorization = fields.get(b"authorization")
        if authorization is not None:
            scheme, _, token = authorization.partition(b" ")
            if scheme.lower() == b"bearer" and token:
                return token.strip()
        return fields.get(b"x-api-key") or None

    def find(self, fields: dict[bytes, bytes]) -> KeyEntry | None:
        """The entry of the request's key; None without a key or with a wrong one."""
        credential = self.credential(fields)
        if credential is None:
            return None
        digest = sha256(credential).digest()
        entry = self._by_digest.get(digest)
        if entry is None or not hmac.compare_digest(entry.spec.digest, digest):
            return None
        return entry


def with_old(spec: KeySpec) -> tuple[KeySpec, ...]:
    """The key, and the one that it replaces, which ends at its own time or with the key."""
    if spec.old_digest is None:
        return (spec,)
    ends = [each for each in (spec.old_expires_s, spec.expires_s) if each is not None]
    old = msgspec.structs.replace(spec, digest=spec.old_digest, expires_s=min(ends, default=None))
    return (spec, old)


def tenant_entries(
    specs: tuple[TenantSpec, ...], slots: Mapping[str, int]
) -> dict[str, TenantEntry]:
    """The tenants that have settings, by name."""
    return {spec.name: TenantEntry(spec, slots[spec.name]) for spec in specs}
