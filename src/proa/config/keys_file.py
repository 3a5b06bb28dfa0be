"""keys.toml: the API keys, as hashes; `keys_edit.py` changes it."""

from collections.abc import Sequence
from pathlib import Path

from proa.config.checks import duplicate_names
from proa.config.document import Document, read_document
from proa.config.faults import ConfigFaults, Fault, shown_value
from proa.config.tables import KeysTable, KeyTable
from proa.config.tenants import known_tenants
from proa.config.validation import validate
from proa.domain.tenant import DEFAULT_TENANT
from proa.gateway.settings import KeySpec
from proa.telemetry.rows import MAX_KEYS


def read_keys(path: Path, tenants: Sequence[str] | None = None) -> tuple[KeySpec, ...]:
    """The keys of a file; `tenants` are those that they may belong to, None for any.

    Raises:
        ConfigError: the file cannot be read or something in it is wrong.
    """
    return keys_of(read_document(path), tenants)


def keys_of(document: Document, tenants: Sequence[str] | None = None) -> tuple[KeySpec, ...]:
    """The keys of a file that was read.

    Raises:
        ConfigError: something in it is wrong.
    """
    table, faults = validate(KeysTable, document)
    for path, accepted in duplicate_names(document.data, "keys"):
        faults.append(document.fault(path, accepted, problem="is there twice"))
    for path, accepted in duplicate_names(document.data, "keys", "hash"):
        faults.append(document.fault(path, accepted, problem="is there twice"))
    if table is not None:
        faults += _between(document, table, tenants)
    if table is None or faults:
        raise ConfigFaults(faults)
    return tuple(_key(key) for key in table.keys)


def _between(document: Document, table: KeysTable, tenants: Sequence[str] | None) -> list[Fault]:
    """What is wrong with a key beside others, or with a whole that is too large."""
    faults = []
    if len(table.keys) > MAX_KEYS:
        accepted = f"accepted are up to {MAX_KEYS}"
        faults.append(document.fault(("keys",), accepted, problem="has too many entries"))
    for index, key in enumerate(table.keys):
        tenant = key.tenant or DEFAULT_TENANT
        if tenants is not None and tenant not in tenants:
            told = known_tenants(tenant, list(tenants))
            path = ("keys", index, "tenant")
            faults.append(document.fault(path, told, shown=shown_value(tenant)))
        if (key.old_hash is None) is not (key.old_expires is None):
            missing = "old_hash" if key.old_hash is None else "old_expires"
            told = "old_hash and old_expires belong together"
            faults.append(document.fault(("keys", index, missing), told, problem="is missing"))
    return faults


def _key(key: KeyTable) -> KeySpec:
    return KeySpec(
        name=key.name,
        digest=_digest(key.hash),
        max_concurrent_requests=key.max_concurrent_requests or 0,
        priority=key.priority,
        admin=key.role == "admin",
        tenant=key.tenant or DEFAULT_TENANT,
        created_s=key.created,
        expires_s=key.expires,
        old_digest=None if key.old_hash is None else _digest(key.old_hash),
        old_expires_s=key.old_expires,
    )


def _digest(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("sha256:"))
