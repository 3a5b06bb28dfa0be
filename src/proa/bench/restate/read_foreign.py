"""Which tool wrote a result file, and its levels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from proa.bench.restate import aiperf, evalscope, guidellm, vllm_bench
from proa.bench.restate.restated import Restated
from proa.errors import InputError

_SQLITE = b"SQLite format 3\0"
KNOWN = (
    "guidellm (JSON), aiperf (profile_export.jsonl or profile_export_aiperf.json), "
    "vllm bench serve (JSON), evalscope (benchmark_data.db or benchmark_summary.json)"
)


def read_foreign(path: Path) -> list[Restated]:
    """Raises InputError: it cannot be read, or was written by none of the known tools."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if data.startswith(_SQLITE):
        return evalscope.read_database(path)
    found = _decoded(data)
    try:
        levels = _levels(found, str(path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: not in a known form ({type(error).__name__}: {error})") from None
    if levels is None:
        raise InputError(f"{path}: no result file that is known; known are {KNOWN}")
    return levels


def _levels(found: list[Any], where: str) -> list[Restated] | None:
    if not found:
        return None
    first = found[0]
    if aiperf.is_record(first):
        return aiperf.read_records(found, where)
    for is_one, read in (
        (guidellm.is_guidellm, guidellm.read_guidellm),
        (aiperf.is_sums, aiperf.read_sums),
        (vllm_bench.is_vllm, vllm_bench.read_vllm),
        (evalscope.is_summary, evalscope.read_summary),
    ):
        if is_one(first):
            return [level for each in found for level in read(_object(each), where)]
    return None


def _object(found: Any) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise TypeError("a line is no object")
    return found


def _decoded(data: bytes) -> list[Any]:
    """One JSON value, or one a line; empty where it is neither."""
    try:
        return [msgspec.json.decode(data)]
    except msgspec.MsgspecError:
        pass
    try:
        return [msgspec.json.decode(line) for line in data.splitlines() if line.strip()]
    except msgspec.MsgspecError:
        return []
