"""One replica under a need: how many sessions it holds, serves fast enough, and answers in time."""

from collections.abc import Callable
from math import floor

import msgspec

from proa.errors import FieldError
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitPlan, FitSpec
from proa.planner.place.layouts import OWN_LINKS, ReplicaLinks
from proa.planner.place.need import Limit, NeedSpec
from proa.planner.speed.calibration import SpeedCalibration, corrected
from proa.planner.speed.performance import (
    PerformancePlan,
    PerformanceSpec,
    engine_of,
    load_of,
    performance,
)
from proa.planner.speed.serving_formula import Served, closed_loop

MOST_SESSIONS = 4096
"""Sessions of one replica at most, where neither memory nor speed sets an end."""

_MOST_SLOTS = 256


class ReplicaLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions of one replica up to which each condition holds; None where nobody asked."""

    memory_sessions: int
    speed_sessions: int | None = None
    ttft_sessions: int | None = None

    @property
    def sessions(self) -> int:
        """Up to which all of them hold."""
        return min(count for _, count in self._rows())

    @property
    def binding(self) -> Limit:
        """The condition that fails first; of equal ones memory, then speed."""
        return min(self._rows(), key=lambda row: row[1])[0]

    def _rows(self) -> list[tuple[Limit, int]]:
        rows = (
            (Limit.MEMORY, self.memory_sessions),
            (Limit.SPEED, self.speed_sessions),
            (Limit.TTFT, self.ttft_sessions),
        )
        return [(limit, count) for limit, count in rows if count is not None]


class ReplicaPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A start of an engine, the links of its GPUs, its memory, and the need's limits on it.

    `calibration` is what a load run said of its speed.
    """

    start: FitSpec
    links: ReplicaLinks
    memory: FitPlan
    limits: ReplicaLimits
    calibration: SpeedCalibration | None = None


def plan_replica(
    start: FitSpec,
    need: NeedSpec,
    *,
    links: ReplicaLinks = OWN_LINKS,
    margin: float = 0.0,
    calibration: SpeedCalibration | None = None,
) -> ReplicaPlan:
    """What one replica carries of a need, `start.max_model_len` being the need's context.

    memory_sessions = floor((1 - margin) x max_concurrency) (see `held_sessions`)
    speed_sessions = most users n with (1 - margin) / tpot(n) >= user_tokens_per_s
    ttft_sessions = most users n with ttft_p95(n) <= (1 - margin) x ttft_p95_s

    Both times grow with n, so n is found by halving; above memory_sessions nothing is searched:
    a limit that equals it is not reached by then. `need.sessions` plays no part.

    Raises:
        InputError: the engine refuses the start, or the GPU has no such link.
    """
    check_margin(margin)
    start = msgspec.structs.replace(start, max_model_len=need.context_tokens)
    memory, places = held_sessions(start, margin)
    limits = ReplicaLimits(memory_sessions=places)
    if places:
        asked = performance_spec(start, need, links, calibration)
        limits = _speed_limits(asked, need, places, margin)
    return ReplicaPlan(
        start=start, links=links, memory=memory, limits=limits, calibration=calibration
    )


def held_sessions(start: FitSpec, margin: float) -> tuple[FitPlan, int]:
    """Sessions of `start.max_model_len` that a replica's cache holds, less the margin.

    llama.cpp makes the cache for as many sequences as it is asked for, or does not start: it is
    asked for as many as fit, where `start.max_num_seqs` does not say how many.

    Raises:
        InputError: the engine refuses the start.
    """
    if start.engine == "llamacpp" and start.max_num_seqs is None:
        start = _with_slots(start)
    memory = fit(start)
    held = floor(max(0.0, memory.max_concurrency) * (1 - margin)) if memory.fits else 0
    return memory, min(held, start.max_num_seqs or MOST_SESSIONS)


def _with_slots(start: FitSpec) -> FitSpec:
    def holds(slots: int) -> bool:
        return fit(msgspec.structs.replace(start, max_num_seqs=slots)).fits

    return msgspec.structs.replace(start, max_num_seqs=max(1, most_that(holds, _MOST_SLOTS)))


def replica_performance(replica: ReplicaPlan, need: NeedSpec, *, sessions: int) -> PerformancePlan:
    """The speed of a replica that serves so many of the need's sessions."""
    spec = performance_spec(replica.start, need, replica.links, replica.calibration)
    places = max(1, replica.limits.memory_sessions)
    return performance(msgspec.structs.replace(spec, users=float(sessions), places=float(places)))


def performance_spec(
    start: FitSpec,
    need: NeedSpec,
    links: ReplicaLinks,
    calibration: SpeedCalibration | None = None,
) -> PerformanceSpec:
    """The question to `performance` for one user."""
    return PerformanceSpec(
        llm=start.llm,
        gpu=start.gpu,
        layout=start.layout,
        engine=start.engine,
        input_tokens=float(need.input_tokens),
        output_tokens=float(need.output_tokens),
        users=1.0,
        kv_dtype=start.kv_dtype,
        link=links.link,
        stage_link=links.stage_link,
        calibration=calibration,
    )


def most_that(holds: Callable[[int], bool], most: int) -> int:
    """The largest count up to `most` that `holds`, which it does up to some count; 0 for none."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def check_margin(margin: float) -> None:
    """Refuse a margin that leaves nothing.

    Raises:
        FieldError: it lies outside 0 to 0.9.
    """
    if not 0 <= margin <= 0.9:
        raise FieldError("margin", margin, "a share from 0 to 0.9 (0.1 is 10 %)")


def _speed_limits(
    spec: PerformanceSpec, need: NeedSpec, places: int, margin: float
) -> ReplicaLimits:
    engine = engine_of(spec)
    ranks = spec.layout.data_parallel * spec.layout.pipeline_parallel

    def served(users: int) -> Served:
        asked = msgspec.structs.replace(spec, users=float(users), places=float(places))
        found = closed_loop(engine, load_of(asked, ranks))
        return corrected(found, spec.calibration, users) if spec.calibration else found

    speed, ttft = need.user_tokens_per_s, need.ttft_p95_s
    return ReplicaLimits(
        memory_sessions=places,
        speed_sessions=None
        if speed is None
        else most_that(lambda n: served(n).tpot_s * speed <= 1 - margin, places),
        ttft_sessions=None
        if ttft is None
        else most_that(lambda n: served(n).ttft_p95_s <= ttft * (1 - margin), places),
    )
