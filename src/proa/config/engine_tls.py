"""`tls` of engines: files that are tried when the settings are read, not when a request comes."""

import hashlib
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from proa.config.document import Document, KeyPath
from proa.config.faults import Fault, shown_value
from proa.domain.fleet import EngineTls
from proa.engines.tls import client_context

FILES = ("ca_file", "cert_file", "key_file")
_ACCEPTED = {
    "ca_file": "a PEM file of certificate authorities",
    "cert_file": "a PEM certificate chain and its key, without a pass phrase",
}


def engine_tls(given: Mapping[str, str], directory: Path) -> EngineTls:
    """The checked table as settings; relative paths start at `directory`."""
    paths = {key: str(directory / given[key]) for key in FILES if given.get(key)}
    return EngineTls(**paths, digest=_digest(paths.values()) if paths else "")


def tls_paths(data: Mapping[str, Any]) -> Iterator[KeyPath]:
    """Where proa.toml may have a `tls` of engines."""
    for key, inner in (("engines", ()), ("discovery", ("engine",))):
        entries = data.get(key)
        for index in range(len(entries) if isinstance(entries, list) else 0):
            yield (key, index, *inner, "tls")


def named_files(data: Mapping[str, Any], directory: Path) -> list[Path]:
    """The files that engines of proa.toml name."""
    tables = [_at(data, path) for path in tls_paths(data)]
    return [directory / t[key] for t in tables for key in FILES if _is_path(t.get(key))]


def engine_tls_faults(document: Document, path: KeyPath, directory: Path) -> list[Fault]:
    """What is wrong with the table at `path`: keys that need each other, files that don't serve."""
    table = _at(document.data, path)
    faults = list(_needs(document, path, table))
    paths = {key: str(directory / table[key]) for key in FILES if _is_path(table.get(key))}
    trials = [("ca_file", EngineTls(ca_file=paths.get("ca_file", "")))] * ("ca_file" in paths)
    if {"cert_file", "key_file"} <= paths.keys():
        pair = {key: paths[key] for key in ("cert_file", "key_file")}
        trials.append(("cert_file", EngineTls(**pair)))
    for key, tls in trials:
        try:
            client_context(tls)
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
            faults.append(
                document.fault(
                    (*path, key),
                    f"accepted is {_ACCEPTED[key]}",
                    shown=shown_value(table[key]),
                    problem=f"cannot be used ({reason or error})",
                )
            )
    return faults


def unnamed_files(document: Document, directory: Path, known: Set[Path]) -> list[Fault]:
    """Files that an engine added at runtime names and proa.toml does not."""
    table = _at(document.data, ("tls",))
    return [
        document.fault(
            ("tls", key),
            "a file that an engine of proa.toml names in its tls",
            shown=shown_value(table[key]),
            problem="is not for engines added at runtime",
        )
        for key in FILES
        if _is_path(table.get(key)) and directory / table[key] not in known
    ]


def _needs(document: Document, path: KeyPath, table: Mapping[str, Any]) -> Iterator[Fault]:
    for key, other in (("cert_file", "key_file"), ("key_file", "cert_file")):
        if key in table and other not in table:
            yield document.fault((*path, other), f"{key} needs it", problem="is missing")
    engine = _at(document.data, path[:-1])
    places = [engine.get(key) for key in ("url", "metrics_url")]
    if table and isinstance(engine.get("url"), str) and not any(map(_is_https, places)):
        shown = shown_value(engine["url"])
        yield document.fault((*path[:-1], "url"), "tls needs https://HOST:PORT", shown=shown)


def _at(data: Any, path: KeyPath) -> dict[str, Any]:
    for part in path:
        if isinstance(part, int):
            data = data[part]
        else:
            data = data.get(part) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _is_path(value: object) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _is_https(url: object) -> bool:
    return isinstance(url, str) and url.startswith("https://")


def _digest(paths: Any) -> str:
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(Path(path).read_bytes())
        except OSError:
            digest.update(b"unreadable")
    return digest.hexdigest()[:16]
