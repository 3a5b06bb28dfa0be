"""Engines named in a file that another program writes: JSON or TOML, or Prometheus' file_sd."""

import json
import tomllib
from pathlib import Path
from typing import Any

from proa.domain.address import with_scheme
from proa.domain.discovery import DiscoverySpec, FoundEngine
from proa.errors import UpstreamError

_MAX_BYTES = 4_194_304
_FORMS = (
    'accepted is a table with "engines", a list of tables each with a url, or a list of '
    '{"targets": ["HOST:PORT"], "labels": {…}} as Prometheus reads it (file_sd)'
)


class EngineFile:
    """Reads the whole file at each look; one that is half written counts as a failed look."""

    def __init__(self, spec: DiscoverySpec) -> None:
        self._path = Path(spec.path)
        self._scheme = spec.scheme

    async def look(self) -> tuple[FoundEngine, ...]:
        """Raises:
        UpstreamError: the file cannot be read or has another form.
        """
        try:
            with self._path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise UpstreamError(f"{self._path} cannot be read ({error.strerror})") from error
        if len(content) > _MAX_BYTES:
            raise UpstreamError(f"{self._path} has more than {_MAX_BYTES} bytes")
        try:
            return engines_in(_parsed(self._path, content), self._scheme)
        except (ValueError, RecursionError) as error:
            raise UpstreamError(f"{self._path}: {error}") from error


def engines_in(data: object, scheme: str) -> tuple[FoundEngine, ...]:
    """The engines that parsed content names.

    Raises:
        ValueError: it has another form.
    """
    if isinstance(data, list):
        return tuple(engine for group in data for engine in _targets(group, scheme))
    entries = data.get("engines") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise ValueError(_FORMS)
    return tuple(_engine(entry, scheme) for entry in entries)


def _parsed(path: Path, content: bytes) -> object:
    text = content.decode("utf-8-sig")
    parsed: object = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return parsed


def _engine(entry: object, scheme: str) -> FoundEngine:
    if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
        raise ValueError(_FORMS)
    options: dict[str, Any] = dict(entry)
    name = options.pop("name", "")
    if not isinstance(name, str):
        raise ValueError(_FORMS)
    return FoundEngine(url=with_scheme(options.pop("url"), scheme), name=name, options=options)


def _targets(group: object, scheme: str) -> list[FoundEngine]:
    """A group of file_sd; labels that begin with `proa_` are options, the rest is passed over."""
    targets = group.get("targets") if isinstance(group, dict) else None
    labels = group.get("labels", {}) if isinstance(group, dict) else None
    if not isinstance(targets, list) or not isinstance(labels, dict):
        raise ValueError(_FORMS)
    if not all(isinstance(target, str) for target in targets):
        raise ValueError(_FORMS)
    options: dict[str, Any] = {
        key.removeprefix("proa_"): value
        for key, value in labels.items()
        if key in ("proa_kind", "proa_server", "proa_api_key_env")
    }
    if isinstance(labels.get("proa_models"), str):
        options["models"] = [name.strip() for name in labels["proa_models"].split(",")]
    if isinstance(labels.get("proa_weight"), str):
        options["weight"] = float(labels["proa_weight"])
    return [FoundEngine(url=with_scheme(t, scheme), options=options) for t in targets]
