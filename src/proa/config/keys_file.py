"""keys.toml: the API keys, as hashes; read for the gateway, changed by `proa keys`."""

import hashlib
import json
import os
import re
import secrets
import tempfile
from pathlib import Path

import msgspec

from proa.config.checks import duplicate_names
from proa.config.document import Document, parse_document, read_document, read_text
from proa.config.faults import ConfigFaults, Fault, one_fault, shown_value
from proa.config.tables import KeysTable
from proa.config.validation import validate
from proa.gateway.settings import KeySpec
from proa.routing.admission.priority import Priority
from proa.telemetry.rows import MAX_KEYS

_KEY_BYTES = 32
_KEYS_HEADER = re.compile(r"\s*\[\[\s*keys\s*\]\]")
_ANY_HEADER = re.compile(r"\s*\[")


def read_keys(path: Path) -> tuple[KeySpec, ...]:
    """The keys of a file.

    Raises:
        ConfigError: the file cannot be read or something in it is wrong.
    """
    return _keys(read_document(path))


def add_key(
    path: Path, name: str, *, max_concurrent_requests: int = 0, priority: Priority | None = None,
    admin: bool = False,
) -> str:  # fmt: skip
    """Append a new key to the file, made if it is not there; returns the key itself.

    Raises:
        ConfigError: the file is faulty, or the new key would make it so (a name that
            exists); the file is then as it was.
    """
    key = f"proa-{secrets.token_urlsafe(_KEY_BYTES)}"
    text = _text(path)
    if name in _names(parse_document(str(path), text)):
        accepted = "another name, or remove that key first"
        raise one_fault(str(path), f"has a key {shown_value(name)}", accepted)
    lines = [
        "[[keys]]",
        f"name = {json.dumps(name)}",
        f'hash = "sha256:{hashlib.sha256(key.encode()).hexdigest()}"',
        *(
            [f"max_concurrent_requests = {max_concurrent_requests}"]
            if max_concurrent_requests
            else []
        ),
        *([f'priority = "{priority}"'] if priority is not None else []),
        *(["admin = true"] if admin else []),
    ]
    gap = "\n" if text.endswith("\n") else "\n\n" if text else ""
    changed = text + gap + "\n".join(lines) + "\n"
    try:
        _keys(parse_document(str(path), changed))
    except ConfigFaults as error:  # what was there before is good: it is the new entry
        raise ConfigFaults([_of_the_call(fault) for fault in error.faults]) from None
    _replace(path, changed)
    return key


def remove_key(path: Path, name: str) -> None:
    """Cut a key's table out of the file; the rest stays as it is written.

    Raises:
        ConfigError: the file is faulty, or has no key of this name.
    """
    names = _names(read_document(path))
    if name not in names:
        known = f"known are {', '.join(names) or 'none'}"
        raise one_fault(str(path), f"has no key {shown_value(name)}", known)
    changed = _without_table(_text(path), names.index(name))
    if _names(parse_document(str(path), changed)) != [kept for kept in names if kept != name]:
        raise one_fault(str(path), "is not written as [[keys]] tables", "remove it with an editor")
    _replace(path, changed)


def _of_the_call(fault: Fault) -> Fault:
    """A fault of an entry that is in no file yet; of the whole list, as it is."""
    entry, dot, key = fault.key.rpartition(".")
    if not dot or not entry.startswith("keys["):
        return fault
    return msgspec.structs.replace(fault, file="new key", key=key, line=None)


def _names(document: Document) -> list[str]:
    return [key.name for key in _keys(document)]


def _keys(document: Document) -> tuple[KeySpec, ...]:
    table, faults = validate(KeysTable, document)
    for path, accepted in duplicate_names(document.data, "keys"):
        faults.append(document.fault(path, accepted, problem="is there twice"))
    for path, accepted in duplicate_names(document.data, "keys", "hash"):
        faults.append(document.fault(path, accepted, problem="is there twice"))
    if table is not None and len(table.keys) > MAX_KEYS:
        faults.append(
            document.fault(
                ("keys",), f"accepted are up to {MAX_KEYS}", problem="has too many entries"
            )
        )
    if table is None or faults:
        raise ConfigFaults(faults)
    return tuple(
        KeySpec(
            name=key.name,
            digest=bytes.fromhex(key.hash.removeprefix("sha256:")),
            max_concurrent_requests=key.max_concurrent_requests or 0,
            priority=key.priority,
            admin=bool(key.admin),
        )
        for key in table.keys
    )


def _text(path: Path) -> str:
    return read_text(path) if path.exists() else ""


def _without_table(text: str, index: int) -> str:
    """The text without its `index`-th `[[keys]]` table, and the comments in it."""
    kept: list[str] = []
    count, is_cut = -1, False
    for line in text.splitlines(keepends=True):
        if _ANY_HEADER.match(line):
            count += bool(_KEYS_HEADER.match(line))
            is_cut = count == index and bool(_KEYS_HEADER.match(line))
        if not is_cut:
            kept.append(line)
    return "".join(kept)


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
