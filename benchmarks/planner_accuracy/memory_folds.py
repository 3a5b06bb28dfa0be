"""The same statistics with constants that never saw the model, the version or the GPU judged.

The sizes of tensors, caches and buffers are arithmetic; fitted are what a logit, a hidden state,
a vision tower and each way of linking GPUs cost. Each fold refits those on all other rows.
Not refitted: which version keeps buffers or counts graphs, since that is yes or no.
"""

from collections.abc import Callable, Hashable

import msgspec
import numpy as np

from benchmarks.planner_accuracy.boots import BootRow, boot_rows, boot_spec
from benchmarks.planner_accuracy.memory import GIB, MemoryCase, by_kind, table
from proa.planner.fit.fit import fit
from proa.planner.fit.profiles import nearest, parse_version
from proa.planner.fit.spec import FitSpec, MeasuredMemory
from proa.planner.fit.vllm_overheads import (
    batch_of,
    expert_buffer_bytes,
    graph_bytes,
    keeps_expert_buffers,
    non_torch_kind,
)
from proa.planner.fit.vllm_versions import VLLM_VERSIONS

_SORTED_BYTES = 20.0
_ROUNDS = 15
_RIDGE = 1e-2

Terms = dict[Hashable, float]

FOLDS: dict[str, Callable[[BootRow], str]] = {
    "one model left out": lambda row: _base_name(row.model),
    "one version left out": lambda row: ".".join(map(str, _version(row)[:2])),
    "one GPU left out": lambda row: row.gpu,
}


class _Start(msgspec.Struct, frozen=True, kw_only=True):
    """A row, its start, what its overhead is made of, and the part of it that is arithmetic.

    `logged_gib` is what was taken of the share besides weights and cache, None if not told.
    """

    row: BootRow
    spec: FitSpec
    terms: Terms
    known_gib: float
    logged_gib: float | None


def report() -> str:
    """A table for each way of leaving out."""
    lines: list[str] = []
    for name, fold in FOLDS.items():
        lines += [f"{name[0].upper()}{name[1:]}:", "", *table(by_kind(folded_cases(fold))), ""]
    return "\n".join(lines)


def folded_cases(fold: Callable[[BootRow], str]) -> list[MemoryCase]:
    """Every pinned row, planned with constants of the other folds' rows."""
    starts = [_start(row) for row in boot_rows() if row.is_pinned]
    cases = []
    for name in sorted({fold(start.row) for start in starts}):
        constants = _fitted([start for start in starts if fold(start.row) != name])
        cases += [_case(start, constants) for start in starts if fold(start.row) == name]
    return cases


def _start(row: BootRow) -> _Start:
    spec = boot_spec(row)
    _, version, _ = nearest(VLLM_VERSIONS, row.engine_version)
    batch = batch_of(spec, version)
    era = "sorted" if version.sampler_bytes > _SORTED_BYTES else "selected"
    kept = expert_buffer_bytes(spec, batch.tokens) if keeps_expert_buffers(spec, version) else 0
    graphs = graph_bytes(spec, batch) if version.counts_graphs else 0
    terms: Terms = {
        ("sampler", era): batch.sequences * spec.llm.vocab / GIB,
        ("base", era): 1.0,
        "hidden": batch.tokens * spec.llm.hidden * 2 / GIB,
        "vision": float(bool(spec.llm.extra_parameters)),
        ("non_torch", non_torch_kind(spec, version), row.tensor_parallel): 1.0,
    }
    known = (kept + graphs) / GIB
    return _Start(
        row=row, spec=spec, terms=terms, known_gib=known, logged_gib=_logged_gib(row, spec)
    )


def _logged_gib(row: BootRow, spec: FitSpec) -> float | None:
    if row.weights_gib is None or row.kv_gib is None:
        return None
    return fit(spec).requested_bytes / GIB - row.weights_gib - row.kv_gib


def _fitted(starts: list[_Start]) -> Terms:
    """Least squares on logged overheads, with large residuals weighing less."""
    told = [(start, start.logged_gib) for start in starts if start.logged_gib is not None]
    names = sorted({name for start, _ in told for name in start.terms}, key=str)
    matrix = np.array([[start.terms.get(name, 0.0) for name in names] for start, _ in told])
    logged = np.array([gib - start.known_gib for start, gib in told])
    weights, constants = np.ones(len(logged)), np.zeros(len(names))
    for _ in range(_ROUNDS):
        ridge = _RIDGE * np.eye(len(names))
        left = np.vstack([matrix * weights[:, None], ridge])
        right = np.concatenate([logged * weights, np.zeros(len(names))])
        constants = np.linalg.lstsq(left, right, rcond=None)[0]
        weights = 1 / np.sqrt(np.maximum(np.abs(matrix @ constants - logged), 0.1))
    return dict(zip(names, map(float, constants), strict=True))


def _case(start: _Start, constants: Terms) -> MemoryCase:
    overhead = start.known_gib + sum(
        value * _constant(name, constants) for name, value in start.terms.items()
    )
    measured = MeasuredMemory(
        activation_bytes=int(overhead * GIB), non_torch_bytes=0, cuda_graph_bytes=0
    )
    spec = msgspec.structs.replace(start.spec, measured=measured)
    return MemoryCase(row=start.row, plan=fit(spec))


def _constant(name: Hashable, constants: Terms) -> float:
    """A way of linking that no other row has takes the nearest number of GPUs, of any kind."""
    if name in constants or not (isinstance(name, tuple) and name[0] == "non_torch"):
        return constants.get(name, 0.0)
    links = [known for known in constants if isinstance(known, tuple) and known[0] == name[0]]
    same = [known for known in links if known[1] == name[1]] or links
    return constants[min(same, key=lambda known: abs(known[2] - name[2]))]


def _version(row: BootRow) -> tuple[int, int, int]:
    return parse_version(row.engine_version or "") or (0, 0, 0)


def _base_name(model: str) -> str:
    """The model of a checkpoint, however it was quantised."""
    name = model.rpartition("/")[2].lower()
    for ending in ("-fp8-dynamic", "-fp8", "-quantized.w8a8", "-quantized.w4a16"):
        name = name.removesuffix(ending)
    return name.removeprefix("meta-")
