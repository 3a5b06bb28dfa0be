"""Changes of keys.toml: keys are added, replaced, ended and revoked; the rest stays as written."""

import hashlib
import json
import os
import secrets
import tempfile
from pathlib import Path
from typing import Literal

import msgspec

from proa.config.document import parse_document, read_text
from proa.config.faults import ConfigFaults, Fault, one_fault, shown_value
from proa.config.keys_file import keys_of
from proa.config.keys_text import with_values, without_table
from proa.config.moments import written
from proa.domain.tenant import DEFAULT_TENANT
from proa.gateway.settings import KeySpec
from proa.routing.admission.priority import Priority

_KEY_BYTES = 32


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a new key is to be; times in Unix time, None for not said and for never."""

    tenant: str = DEFAULT_TENANT
    role: Literal["user", "admin"] = "user"
    max_concurrent_requests: int = 0
    priority: Priority | None = None
    created_s: float | None = None
    expires_s: float | None = None


_PLAIN = NewKey()


def add_key(path: Path, name: str, asked: NewKey = _PLAIN) -> str:
    """Append a new key to the file, made if it is not there; returns the key itself.

    Raises:
        ConfigError: the file is faulty, or the new key would make it so (a name that
            exists); the file is then as it was.
    """
    key, text = _new_text(), _text(path)
    if name in [spec.name for spec in _parsed(path, text)]:
        accepted = "another name, or revoke or rotate that key"
        raise one_fault(str(path), f"has a key {shown_value(name)}", accepted)
    values = {"name": json.dumps(name), "hash": _hash(key)} | _values(asked)
    gap = "\n" if text.endswith("\n") else "\n\n" if text else ""
    lines = "".join(f"{key} = {value}\n" for key, value in values.items())
    changed = f"{text}{gap}[[keys]]\n{lines}"
    try:
        _parsed(path, changed)
    except ConfigFaults as error:  # what was there before is good: it is the new entry
        raise ConfigFaults([_of_the_call(fault) for fault in error.faults]) from None
    _replace(path, changed)
    return key


def revoke_key(path: Path, name: str) -> None:
    """Cut a key's table out of the file; the rest stays as it is written.

    Raises:
        ConfigError: the file is faulty, or has no key of this name.
    """
    text, keys, index = _found(path, name)
    _put(path, without_table(text, index), (*keys[:index], *keys[index + 1 :]))


def rotate_key(path: Path, name: str, *, old_until_s: float | None) -> str:
    """Give a key another text, which is returned; the old one works before `old_until_s`.

    One that was replaced earlier and still works ends now.

    Raises:
        ConfigError: the file is faulty, or has no key of this name.
    """
    text, keys, index = _found(path, name)
    key = _new_text()
    before, after = keys[index], hashlib.sha256(key.encode()).digest()
    old_hash = None if old_until_s is None else f'"sha256:{before.digest.hex()}"'
    old_expires = None if old_until_s is None else written(old_until_s)
    values = {"hash": _hash(key), "old_hash": old_hash, "old_expires": old_expires}
    spec = msgspec.structs.replace(
        before,
        digest=after,
        old_digest=None if old_until_s is None else before.digest,
        old_expires_s=None if old_until_s is None else float(int(old_until_s)),
    )
    changed = (*keys[:index], spec, *keys[index + 1 :])
    _put(path, with_values(text, index, values), changed)
    return key


def expire_key(path: Path, name: str, at_s: float | None) -> None:
    """End a key, and the one that it replaced, at a time; None for never.

    Raises:
        ConfigError: the file is faulty, or has no key of this name.
    """
    text, keys, index = _found(path, name)
    values = {"expires": None if at_s is None else written(at_s)}
    ends_s = None if at_s is None else float(int(at_s))
    spec = msgspec.structs.replace(keys[index], expires_s=ends_s)
    _put(path, with_values(text, index, values), (*keys[:index], spec, *keys[index + 1 :]))


def _values(asked: NewKey) -> dict[str, str]:
    """What differs from the usual, as TOML."""
    values = {}
    if asked.tenant != DEFAULT_TENANT:
        values["tenant"] = json.dumps(asked.tenant)
    if asked.role != "user":
        values["role"] = json.dumps(asked.role)
    if asked.max_concurrent_requests:
        values["max_concurrent_requests"] = str(asked.max_concurrent_requests)
    if asked.priority is not None:
        values["priority"] = f'"{asked.priority}"'
    for name, at_s in (("created", asked.created_s), ("expires", asked.expires_s)):
        if at_s is not None:
            values[name] = written(at_s)
    return values


def _found(path: Path, name: str) -> tuple[str, tuple[KeySpec, ...], int]:
    text = read_text(path)
    keys = _parsed(path, text)
    names = [key.name for key in keys]
    if name not in names:
        known = f"known are {', '.join(names) or 'none'}"
        raise one_fault(str(path), f"has no key {shown_value(name)}", known)
    return text, keys, names.index(name)


def _put(path: Path, text: str, expected: tuple[KeySpec, ...]) -> None:
    """Write a changed text, if it says what it should."""
    if _parsed(path, text) != expected:
        raise one_fault(str(path), "is not written as [[keys]] tables", "change it with an editor")
    _replace(path, text)


def _new_text() -> str:
    return f"proa-{secrets.token_urlsafe(_KEY_BYTES)}"


def _hash(key: str) -> str:
    return f'"sha256:{hashlib.sha256(key.encode()).hexdigest()}"'


def _parsed(path: Path, text: str) -> tuple[KeySpec, ...]:
    return keys_of(parse_document(str(path), text))


def _of_the_call(fault: Fault) -> Fault:
    """A fault of an entry that is in no file yet; of the whole list, as it is."""
    entry, dot, key = fault.key.rpartition(".")
    if not dot or not entry.startswith("keys["):
        return fault
    return msgspec.structs.replace(fault, file="new key", key=key, line=None)


def _text(path: Path) -> str:
    return read_text(path) if path.exists() else ""


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename: readers see the old or the new, never half."""
    beside = None
    try:
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)
        problem = f"cannot be written ({error.strerror})"
        raise one_fault(str(path), problem, "a place where this user may write") from error
