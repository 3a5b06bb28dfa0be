"""A run's file with what identifies it: where it is, how large, its digest."""

from hashlib import file_digest
from pathlib import Path

import msgspec

from proa.bench.keep.read_run import read_run
from proa.bench.run import RunResult


class KeptRun(msgspec.Struct, frozen=True):
    """A run that was read back."""

    path: Path
    size_bytes: int
    sha256: str
    result: RunResult

    @property
    def requests(self) -> int:
        """All rows, warm-up and fillers too."""
        return sum(len(visit.result.samples) for visit in self.result.visits)


def kept_run(path: Path) -> KeptRun:
    """Raises InputError: no run of this version, or one that is damaged."""
    result = read_run(path)
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return KeptRun(path, path.stat().st_size, digest, result)
