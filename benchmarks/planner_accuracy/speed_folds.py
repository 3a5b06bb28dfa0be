"""The same statistics with constants that never saw the load, the model, the GPU or the engine.

Each fold refits them on all other rows; an engine that was left out takes the mean of the others.
"""

from collections.abc import Callable, Hashable

import numpy as np

from benchmarks.planner_accuracy.served import ServedRow
from benchmarks.planner_accuracy.speed_fitting import (
    BY_ENGINE,
    Floats,
    Loads,
    Mask,
    fitted,
    loads,
    planned,
)
from proa.planner.speed.efficiency import MEASURED_ENGINES


def _family_of(row: ServedRow) -> str:
    name = row.model.rpartition("/")[2]
    return name.split("-")[0] if "-" in name and not name.startswith(("Qwen3", "Llama")) else name


FOLDS: dict[str, Callable[[ServedRow], Hashable]] = {
    "a load (8 folds)": lambda row: round(row.tpot_ms * 1e3 + row.ttft_ms) % 8,
    "a family of models": _family_of,
    "a GPU": lambda row: row.gpu.lower().removesuffix("_sxm"),
    "an engine": lambda row: row.engine,
}


def report() -> str:
    """One row for each way of leaving out; two loads with the same times lie in one fold."""
    data = loads()
    lines = ["| left out | TPOT mean | median | within 20 % | TTFT median | within 25 % |"]
    lines.append("|---" * 6 + "|")
    every = np.ones(len(data.rows), dtype=np.bool_)
    lines.append(_line(data, "nothing", *planned(data, fitted(data, every))))
    for name, fold in FOLDS.items():
        lines.append(_line(data, name, *_folded(data, fold)))
    return "\n".join(lines)


def _folded(data: Loads, fold: Callable[[ServedRow], Hashable]) -> tuple[Floats, Floats]:
    keys = [fold(row) for row in data.rows]
    tpot, ttft = np.zeros(len(keys)), np.zeros(len(keys))
    for key in sorted(set(keys), key=str):
        left = np.array([other == key for other in keys])
        constants = _with_means(data, ~left, fitted(data, ~left))
        tpot[left], ttft[left] = (times[left] for times in planned(data, constants))
    return tpot, ttft


def _with_means(data: Loads, seen: Mask, constants: dict[str, float]) -> dict[str, float]:
    known = [engine for engine in MEASURED_ENGINES if (data.engine[seen] == engine).any()]
    for engine in set(MEASURED_ENGINES) - set(known):
        for name in BY_ENGINE:
            constants[f"{name}:{engine}"] = float(
                np.mean([constants[f"{name}:{other}"] for other in known])
            )
    return constants


def _line(data: Loads, name: str, tpot: Floats, ttft: Floats) -> str:
    gaps = abs(tpot / data.tpot_s - 1)[data.whole]
    firsts = abs(ttft / data.ttft_s - 1)[data.whole]
    return (
        f"| {name} | {gaps.mean():.1%} | {np.median(gaps):.1%} | {(gaps <= 0.2).mean():.0%} | "
        f"{np.median(firsts):.1%} | {(firsts <= 0.25).mean():.0%} |"
    )
