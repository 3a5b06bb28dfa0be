"""Which files changed since they were last read."""

import os
from collections.abc import Sequence
from pathlib import Path

Fingerprint = tuple[tuple[int, int, int] | None, ...]


class FileWatch:
    """Compares time, size and inode of files; to be asked a few times a second.

    A change counts when two looks in a row see the same, so that a file is not read
    while an editor or a copy still writes it.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = tuple(files)
        self._read = self._last = self._look()

    def changed(self) -> bool:
        """Whether the files differ from those last read, and have settled."""
        now, before = self._look(), self._last
        self._last = now
        return now == before and now != self._read

    def read_again(self, files: Sequence[Path]) -> None:
        """The files were read as the last look saw them; watch these from now on."""
        if tuple(files) == self._files:
            self._read = self._last
        else:
            self._files = tuple(files)
            self._read = self._last = self._look()

    def _look(self) -> Fingerprint:
        return tuple(map(_fingerprint, self._files))


def _fingerprint(path: Path) -> tuple[int, int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size, seen.st_ino
