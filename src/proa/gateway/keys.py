"""API keys: who a request belongs to, and how many requests that key has open."""

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING

from proa.gateway.settings import KeySpec
from proa.telemetry.rows import Key, key_base

if TYPE_CHECKING:
    from proa.gateway.plane import DataPlane

_REQUESTS = Key.REQUESTS - Key.IN_FLIGHT


class KeyEntry:
    """A configured key with its cells in the shared rows."""

    def __init__(self, spec: KeySpec, slot: int) -> None:
        self.spec = spec
        self.max_concurrent_requests = spec.max_concurrent_requests
        self._base = key_base(slot) + Key.IN_FLIGHT

    def enter(self, plane: "DataPlane") -> bool:
        """Take a place under the key's cap, over all workers; false when it is used up."""
        row, base, others = plane.row, self._base, plane.other_rows
        mine, cap = row[base], self.max_concurrent_requests
        if cap and mine + (sum([row[base] for row in others]) if others else 0) >= cap:
            return False
        row[base] = mine + 1
        row[base + _REQUESTS] += 1
        return True

    def leave(self, plane: "DataPlane") -> None:
        """Give the place back; called once, in the exchange's only end."""
        plane.row[self._base] -= 1


class KeyRing:
    """All keys by the SHA-256 of their text.

    The text of a key is 256 bits of chance, so one hash without salt hides it, and
    looking up a digest tells nothing about the digests that are stored; the last
    comparison is constant-time all the same.
    """

    def __init__(self, specs: tuple[KeySpec, ...], slots: dict[str, int]) -> None:
        self._by_digest = {spec.digest: KeyEntry(spec, slots[spec.name]) for spec in specs}

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
