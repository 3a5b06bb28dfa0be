"""The figures of a run by name, in a file if one is named: what is there is not measured again."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any


class Book:
    """`data` has stable keys; names with slashes are paths in it."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.data: dict[str, Any] = {}
        if file is not None and file.exists():
            self.data = json.loads(file.read_text())

    def put(self, name: str, value: Any) -> None:
        """Keep a figure."""
        at = self.data
        *path, last = name.split("/")
        for part in path:
            at = at.setdefault(part, {})
        at[last] = value
        if self._file is not None:
            self._file.write_text(json.dumps(self.data, indent=2) + "\n")

    def has(self, name: str) -> bool:
        at: Any = self.data
        for part in name.split("/"):
            if part not in at:
                return False
            at = at[part]
        return True

    async def once(self, name: str, measure: Callable[[], Awaitable[Any]]) -> None:
        """Measure it unless an earlier run has."""
        if not self.has(name):
            self.put(name, await measure())
