"""What the control plane is told; made by `config`."""

import hashlib
import hmac
from collections.abc import Sequence

import msgspec

from proa.domain.discovery import DiscoverySpec
from proa.domain.fleet import EngineSpec


class AdminKeySpec(msgspec.Struct, frozen=True, kw_only=True):
    """An API key that may use the admin API: `digest` is the SHA-256 of the key.

    It works before `expires_s`, in Unix time, None for ever.
    """

    name: str
    digest: bytes
    expires_s: float | None = None


class RecordsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[records]`: `store` is a URL that may hold a secret, `shown` the same without it.

    `retention_days` 0 keeps records for ever.
    """

    store: str
    shown: str
    retention_days: float = 90.0


class UsageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[usage]`: `store` is a URL that may hold a secret, `shown` the same without it.

    `is_shared` tells that other gateways may use it, too.
    """

    store: str
    shown: str
    is_shared: bool = False
    time_zone: str = "UTC"


class ControlSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One generation of the control plane's settings.

    `listen` is `host:port`, `[v6]:port` or `unix:/path`. `keys` is empty when the
    admin API is open to this machine's own programs, and with `insecure` to all;
    `other_digests` are those of the keys that may not use it.
    `records` is None where no request records are kept, `usage` where no usage is.
    `draining` engines get no new request. `state_file` is where changes at runtime are
    kept, empty for nowhere, None for the place beside proa.toml.
    """

    listen: str = "127.0.0.1:8081"
    poll_interval_s: float = 0.5
    engines: tuple[EngineSpec, ...] = ()
    draining: frozenset[str] = frozenset()
    discovery: tuple[DiscoverySpec, ...] = ()
    state_file: str | None = None
    records: RecordsSettings | None = None
    usage: UsageSettings | None = None
    keys: tuple[AdminKeySpec, ...] = ()
    other_digests: tuple[bytes, ...] = ()
    insecure: bool = False

    def admits(self, key: str, now_s: float) -> bool:
        """Whether `key` opens the admin API now; every key is compared, in constant time."""
        valid = [k.digest for k in self.keys if k.expires_s is None or now_s < k.expires_s]
        return not self.keys or _is_among(key, valid)

    def knows(self, key: str) -> bool:
        """Whether `key` is one that may not use the admin API; compared in the same way."""
        return _is_among(key, self.other_digests)


def _is_among(key: str, digests: Sequence[bytes]) -> bool:
    digest = hashlib.sha256(key.encode()).digest()
    return sum(hmac.compare_digest(digest, known) for known in digests) > 0
