"""What the gateway remembers over a restart: one small JSON file of named sections.

proa.toml is the user's and is never written; this file is proa's own. Whoever has
something to remember takes a section name and writes plain JSON values to it.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from proa.telemetry.logs import Log

_FORMAT = 1


class StateFile:
    """Sections are read once, and each `write` replaces the file as a whole.

    Without a path nothing outlives the process. `problem` is why the last write did not
    reach the disk, empty when it did; it is logged once, and again only when it changes.
    """

    def __init__(self, path: Path | None, log: Log) -> None:
        self.path = path
        self.problem = ""
        self._log = log
        self._sections: dict[str, Any] = {} if path is None else self._read(path)

    def section(self, name: str, read: Callable[[Any], Any]) -> Any:
        """`read` of the section's value, None where there is none.

        A section that `read` refuses (ValueError) is left out with a logged error, and
        the whole file is kept aside.
        """
        if name not in self._sections:
            return None
        try:
            return read(self._sections[name])
        except ValueError as error:
            self._set_aside(f"section {name}: {error}")
            del self._sections[name]
            return None

    def write(self, name: str, value: Any) -> None:
        """Remember a section; a value that is there already, or nothing at all, costs no write."""
        before = self._sections.get(name)
        if (before == value or not (before or value)) and not self.problem:
            return
        self._sections[name] = value
        if self.path is None:
            return
        try:
            _replace(self.path, json.dumps({"format": _FORMAT} | self._sections, indent=1))
            problem = ""
        except OSError as error:
            problem = f"{self.path} cannot be written ({error.strerror or error})"
            if problem != self.problem:
                self._log.event("error", "changes at runtime will not outlive it", error=problem)
        self.problem = problem

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(data, dict) or data.pop("format", None) != _FORMAT:
                raise ValueError(f"not a state file of format {_FORMAT}")
        except FileNotFoundError:
            return {}
        except OSError as error:
            reason = error.strerror or str(error)
            self._log.event("error", "state file not read", file=str(path), error=reason)
            return {}
        except (ValueError, RecursionError) as error:
            self._set_aside(str(error))
            return {}
        return data

    def _set_aside(self, reason: str) -> None:
        assert self.path is not None
        kept = self.path.with_name(f"{self.path.name}.bad")
        with suppress(OSError):
            kept.write_bytes(self.path.read_bytes())
        self._log.event(
            "error", "state file is damaged", file=str(self.path), error=reason, kept_as=str(kept)
        )


def _replace(path: Path, text: str) -> None:
    """Write the file so that it is whole, old or new, whenever somebody looks."""
    fresh = path.with_name(f"{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
