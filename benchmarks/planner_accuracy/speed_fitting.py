"""The constants of speed, fitted to the loads that one shows.

FLOPs, bytes and messages are arithmetic; fitted are the shares of the roof that are reached and
what a kernel, a sequence and a request cost: least squares on robust logarithms first, then a
random search for more loads within 20 and 25 %. Not refitted: how many kernels a layer launches,
what a request costs outside the passes, and the latency of NVLink.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares  # type: ignore[import-untyped]

from benchmarks.planner_accuracy.served import ServedRow, served_rows, served_spec
from proa.planner.speed.efficiency import FIRST_S, MEASURED_ENGINES, MEASURED_FAMILIES, serving_of
from proa.planner.speed.performance import MOST_PLACES, PerformanceSpec, engine_of, ranks_of
from proa.planner.speed.serving_formula import Engine, Load, Serving, closed_loop
from proa.planner.speed.step_formula import Pace, Work

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SEARCHED = 600
"""Steps of the random search."""
_SOFT = 0.05
"""How softly a load counts as within 20 or 25 %: harder edges win loads that were seen only."""
_SPLIT_WEIGHT = 0.2


class Fitted(NamedTuple):
    """One constant: where the search starts, and between what it stays."""

    start: float
    low: float
    high: float


BY_ENGINE = {
    "kernel_us": Fitted(3, 1, 10),
    "sequence_us": Fitted(20, 1, 60),
    "burst": Fitted(0.12, 0.01, 1),
    "first_steps": Fitted(2, 1, 20),
    "launch_us": Fitted(40, 0.5, 200),
}
_BY_FAMILY = {
    "math": Fitted(0.5, 0.35, 0.75),
    "expert_math": Fitted(0.2, 0.02, 0.75),
    "expert_read": Fitted(0.75, 0.2, 0.95),
    "attention_math": Fitted(0.3, 0.05, 0.7),
}
_COMMON = {
    "read": Fitted(0.8, 0.4, 0.92),
    "cache_read": Fitted(0.7, 0.3, 0.92),
    "blocked": Fitted(0.5, 0.2, 1.1),
}


class Loads(NamedTuple):
    """All rows as arrays: what was asked, and what was measured."""

    rows: list[ServedRow]
    work: Work
    load: Load
    engine: NDArray[np.str_]
    family: NDArray[np.str_]
    whole: Mask
    held_steps: Floats
    lockstep: Floats
    tpot_s: Floats
    ttft_s: Floats


def names() -> list[str]:
    """All constants: of each engine, of each GPU family, of all."""
    engines = [f"{name}:{engine}" for name in BY_ENGINE for engine in MEASURED_ENGINES]
    families = [f"{name}:{family}" for name in _BY_FAMILY for family in MEASURED_FAMILIES]
    return [*engines, *families, *_COMMON]


def loads() -> Loads:
    """The rows of the file."""
    rows = served_rows()
    specs = [served_spec(row) for row in rows]
    work = Work(*np.array([engine_of(spec).work for spec in specs], dtype=np.float64).T)
    return Loads(
        rows=rows,
        work=work,
        load=Load(*np.array([_load(spec) for spec in specs], dtype=np.float64).T),
        engine=np.array([row.engine for row in rows]),
        family=np.array([spec.gpu.family for spec in specs]),
        whole=np.array([row.decode is None for row in rows]),
        held_steps=np.array([spec.held_steps for spec in specs]),
        lockstep=np.array([serving_of(row.engine).lockstep for row in rows]),
        tpot_s=np.array([row.tpot_ms for row in rows]) / 1e3,
        ttft_s=np.array([row.ttft_ms for row in rows]) / 1e3,
    )


def _load(spec: PerformanceSpec) -> Load:
    users, places = spec.users or 1.0, spec.places or MOST_PLACES
    tokens, ranks = spec.input_tokens, ranks_of(spec)
    answer, spread = spec.output_tokens, spec.length_spread
    return Load(users / ranks, places / ranks, tokens, tokens, answer, spread)


def planned(data: Loads, constants: dict[str, float]) -> tuple[Floats, Floats]:
    """(TPOT, TTFT) of every row with these constants."""

    def of(name: str, labels: NDArray[np.str_]) -> Floats:
        return np.array([constants[f"{name}:{label}"] for label in labels])

    engine, family = data.engine, data.family
    pace = Pace(
        read=constants["read"],
        expert_read=of("expert_read", family),
        cache_read=constants["cache_read"],
        math=of("math", family),
        expert_math=of("expert_math", family),
        attention_math=of("attention_math", family),
        kernel_s=of("kernel_us", engine) * 1e-6,
        step_s=0.0003,
        sequence_s=of("sequence_us", engine) * 1e-6,
    )
    serve = Serving(
        first_s=FIRST_S,
        launch_s=of("launch_us", engine) * 1e-6,
        first_steps=of("first_steps", engine) + data.held_steps,
        burst=of("burst", engine),
        lockstep=data.lockstep,
        blocked=np.where(data.whole, constants["blocked"], 0.0),
        chunk_tokens=8192.0,
    )
    served = closed_loop(Engine(data.work, pace, serve), data.load)
    return np.asarray(served.tpot_s), np.asarray(served.ttft_s)


def fitted(data: Loads, seen: Mask, *, searched: int = SEARCHED) -> dict[str, float]:
    """Constants for the rows that are `seen`; `searched` steps of chance, always the same ones."""
    order = names()
    bounds = [(BY_ENGINE | _BY_FAMILY | _COMMON)[name.partition(":")[0]] for name in order]
    start, low, high = (np.array(column) for column in zip(*bounds, strict=True))
    weight = np.where(data.whole, 1.0, _SPLIT_WEIGHT)[seen]

    def off(values: Floats) -> Floats:
        tpot, ttft = planned(data, dict(zip(order, values, strict=True)))
        gaps = weight * _robust(np.log(tpot / data.tpot_s)[seen] / 0.18)
        firsts = 0.7 * (weight == 1) * _robust(np.log(ttft / data.ttft_s)[seen] / 0.18)
        return np.concatenate([gaps, firsts, 0.5 * np.log(values / start)])

    found = least_squares(off, start, bounds=(low, high), x_scale=start, max_nfev=200)
    best = dict(zip(order, map(float, found.x), strict=True))
    return _searched(data, seen & data.whole, best, (low, high), searched)


def _searched(
    data: Loads,
    seen: Mask,
    first: dict[str, float],
    bounds: tuple[Floats, Floats],
    steps: int,
) -> dict[str, float]:
    """Small steps from `first` that bring more loads within 20 % (TPOT) and 25 % (TTFT)."""
    order = list(first)
    start = np.array(list(first.values()))

    def score(values: Floats) -> float:
        tpot, ttft = planned(data, dict(zip(order, values, strict=True)))
        gaps = abs(tpot / data.tpot_s - 1)[seen]
        firsts = abs(ttft / data.ttft_s - 1)[seen]
        far = float((np.log(values / start) ** 2).sum()) / 0.25**2
        hits = _within(gaps, 0.19).sum() + 0.8 * _within(firsts, 0.24).sum()
        return float(hits - 1.5 * np.minimum(gaps, 1).sum() - 0.4 * far)

    values, best, chance = start, score(start), np.random.default_rng(0)
    for _ in range(steps):
        moved = chance.random(len(order)) < 0.1
        tried = np.clip(values * np.exp(moved * chance.normal(0, 0.06, len(order))), *bounds)
        if (reached := score(tried)) > best:
            values, best = tried, reached
    return dict(zip(order, map(float, values), strict=True))


def _robust(error: Floats) -> Floats:
    return np.asarray(np.sign(error) * np.sqrt(np.log1p(error**2)))


def _within(error: Floats, most: float) -> Floats:
    return np.asarray(1 / (1 + np.exp((error - most) / _SOFT)))
