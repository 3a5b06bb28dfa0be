"""Levels, requests and gauges as flat tables, for spreadsheets and data frames."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from proa.bench.combine.run import CombineResult
from proa.bench.combine.spec import PARTS
from proa.bench.compare.run import CompareResult
from proa.bench.keep.kept import Kept
from proa.bench.keep.run_file import KIND
from proa.bench.quality.run import QualityResult
from proa.bench.restate.document import ImportResult
from proa.bench.run import RunResult
from proa.bench.sample import RequestSample
from proa.errors import FieldError, InputError

Rows = list[dict[str, Any]]
_DERIVED = ("ttft_s", "visible_ttft_s", "scheduled_ttft_s", "tpot_s", "e2e_s",
            "user_tokens_per_s", "user_tokens_per_s_e2e")  # fmt: skip


def table_of(name: str, runs: Sequence[Kept], report: Mapping[str, Any]) -> Rows:
    """The rows of all runs, each with its `file`; None is "not measured"."""
    if name == "levels" and any(kept.kind != KIND for kept in runs):
        raise FieldError("--table", name, "requests: only a run has levels")
    if name == "levels":
        return [
            {"file": told["file"], **_flat(level)}
            for told in report["runs"]
            for level in told["levels"]
        ]
    rows: Rows = []
    for kept in runs:
        found = _rows(kept, name)
        rows += [{"file": kept.path.name, **row} for row in found]
    return rows


def _rows(kept: Kept, name: str) -> Iterator[dict[str, Any]]:
    if name == "gauges":
        return _gauges(kept)
    if isinstance(kept.result, QualityResult):
        return _answers(kept.result)
    return _requests(kept)


def csv_text(rows: Rows) -> str:
    """With a head; empty cells are "not measured"."""
    head = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, head, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def write_parquet(rows: Rows, path: Path) -> None:
    """Raises InputError: the extra `parquet` is not installed, or the file cannot be written."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InputError("--format parquet needs pyarrow: pip install 'proa[parquet]'") from None
    try:
        parquet.write_table(pa.Table.from_pylist(rows), path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _requests(kept: Kept) -> Iterator[dict[str, Any]]:
    names = [name for name in RequestSample.__struct_fields__ if name != "events"]
    for beside, sample in _samples(kept.result):
        row = {name: getattr(sample, name) for name in names}
        row |= {name: getattr(sample, name) for name in _DERIVED}
        for name in ("failure", "token_source"):
            row[name] = None if row[name] is None else str(row[name])
        yield beside | row | {"content_events": len(sample.events)}


def _samples(result: Any) -> Iterator[tuple[dict[str, Any], RequestSample]]:
    """All requests of a run, a comparison or a combination, and what they belong to."""
    match result:
        case RunResult():
            for visit in result.visits:
                yield from (({}, sample) for sample in visit.result.samples)
        case CompareResult():
            for pair in result.pairs:
                about: dict[str, Any] = {
                    "round": pair.round,
                    "tokens": pair.tokens,
                    "is_probe": pair.is_probe,
                }
                yield from ((about, sample) for sample in pair.sides)
        case ImportResult():
            for file, level in zip(result.files, result.levels, strict=True):
                told = {"source": file, "tool": level.tool}
                yield from ((told, sample) for sample in level.samples)
        case CombineResult():
            for block in result.blocks:
                about = {"round": block.round, "part": PARTS[block.part]}
                yield from ((about, sample) for sample in block.samples)


def _answers(result: QualityResult) -> Iterator[dict[str, Any]]:
    for own in result.answers.values():
        yield from (msgspec.to_builtins(answer) for answer in own.values())


def _gauges(kept: Kept) -> Iterator[dict[str, Any]]:
    for sample in kept.result.gauges if kept.kind == KIND else ():
        yield {
            "at_s": sample.at_s,
            "source": sample.source,
            "name": sample.name,
            "value": sample.value,
        }


def _flat(told: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested objects as `outer.inner`; lists of two as `.low` and `.high`, others joined."""
    flat: dict[str, Any] = {}
    for key, value in told.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{name}.")
        elif isinstance(value, list) and name.endswith("_interval"):
            flat |= {f"{name}.low": value[0], f"{name}.high": value[1]}
        elif isinstance(value, list):
            flat[name] = "; ".join(map(_in_cell, value))
        else:
            flat[name] = value
    return flat


def _in_cell(value: Any) -> str:
    """A remark as its code and values."""
    if not isinstance(value, Mapping):
        return str(value)
    values = (f"{name}={number:g}" for name, number in value.get("values", {}).items())
    return " ".join((str(value.get("code", "")), *values)).strip()
