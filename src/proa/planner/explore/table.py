"""Every kind of replica as columns of numbers, and its limits found for all of them at once."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proa.domain.gpu import GpuSpec
from proa.errors import InputError
from proa.planner.explore.memory import HeldSessions
from proa.planner.explore.spec import ExploreSpec, replica_kinds
from proa.planner.fit.spec import FitSpec
from proa.planner.place.layouts import links_of
from proa.planner.place.need import Limit, NeedSpec
from proa.planner.place.replica import performance_spec
from proa.planner.speed.links import find_link
from proa.planner.speed.performance import engine_of
from proa.planner.speed.serving_formula import Engine, Load, Served, Serving, closed_loop
from proa.planner.speed.step_formula import Pace, Work

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Indexes = NDArray[np.intp]


class ReplicaTable(NamedTuple):
    """Kinds of replica that hold a session at some context; `tried` has the GPUs of all others.

    Shapes:
        tried: [all kinds of the space]; kinds: [kinds];
        fields of `engine`, and `ranks`: [kinds, 1];
        limits, each in sessions of one replica: [kinds, contexts]; what nobody asked for
        equals `memory_sessions`.
    """

    tried: Counts
    kinds: Sequence[FitSpec]
    needs: tuple[NeedSpec, ...]
    engine: Engine
    ranks: Floats
    memory_sessions: Counts
    speed_sessions: Counts
    ttft_sessions: Counts

    @property
    def sessions(self) -> Counts:
        """Up to which all conditions hold."""
        return np.minimum(self.memory_sessions, np.minimum(self.speed_sessions, self.ttft_sessions))

    def binding(self, kind: int, context: int) -> Limit:
        """The condition that fails first; of equal ones memory, then speed."""
        rows = (self.memory_sessions, self.speed_sessions, self.ttft_sessions)
        counts = [int(each[kind, context]) for each in rows]
        return tuple(Limit)[counts.index(min(counts))]


def replica_table(spec: ExploreSpec) -> ReplicaTable:
    """The table of a space; the numbers are those of `plan_replica`, kind by kind.

    Raises:
        InputError: a context that leaves no room for an input.
    """
    needs = spec.needs()
    memory_of = HeldSessions(tuple(need.context_tokens for need in needs), spec.margin)
    kinds, held, tried = [], [], []
    for kind in replica_kinds(spec):
        tried.append(kind.layout.gpus)
        sessions = memory_of.of(kind)
        if any(sessions):
            kinds.append(kind)
            held.append(sessions)
    engine = _columns([_engine(spec, kind) for kind in kinds])
    memory: Counts = np.array(held, dtype=np.int64).reshape(-1, len(needs))
    ranks = [kind.layout.data_parallel * kind.layout.pipeline_parallel for kind in kinds]
    column: Floats = np.array(ranks, dtype=np.float64).reshape(-1, 1)
    gpus: Counts = np.array(tried, dtype=np.int64)
    table = ReplicaTable(gpus, kinds, needs, engine, column, memory, memory, memory)
    return _with_speed(table, spec)


def served_at(table: ReplicaTable, at: tuple[Indexes, Indexes], sessions: Counts) -> Served:
    """The speed of replicas that serve so many sessions: a row each of kind, context, sessions.

    Shapes:
        at: ([rows], [rows]), indexes of kind and of context; sessions: [rows].
    """
    kind, context = at
    engine = Engine(
        Work(*(column[kind, 0] for column in table.engine.work)),
        Pace(*(column[kind, 0] for column in table.engine.pace)),
        Serving(*(column[kind, 0] for column in table.engine.serve)),
    )
    inputs, outputs = _tokens(table.needs)
    ranks = table.ranks[kind, 0]
    places = table.memory_sessions[at] / ranks
    tokens_in = inputs[context]
    return closed_loop(
        engine, Load(sessions / ranks, places, tokens_in, tokens_in, outputs[context])
    )


def _served(table: ReplicaTable, sessions: Counts) -> Served:
    """The speed of every kind at every context; shapes: [kinds, contexts]."""
    inputs, outputs = _tokens(table.needs)
    places = np.maximum(table.memory_sessions, 1) / table.ranks
    load = Load(sessions / table.ranks, places, inputs, inputs, outputs)
    return closed_loop(table.engine, load)


def _tokens(needs: Sequence[NeedSpec]) -> tuple[Floats, Floats]:
    inputs = [float(need.input_tokens) for need in needs]
    return np.array(inputs), np.array([float(need.output_tokens) for need in needs])


def _with_speed(table: ReplicaTable, spec: ExploreSpec) -> ReplicaTable:
    speed, ttft, left = spec.need.user_tokens_per_s, spec.need.ttft_p95_s, 1 - spec.margin
    if speed is not None:
        found = _most_that(table, lambda served: served.tpot_s * speed <= left)
        table = table._replace(speed_sessions=found)
    if ttft is not None:
        found = _most_that(table, lambda served: served.ttft_p95_s <= ttft * left)
        table = table._replace(ttft_sessions=found)
    return table


def _most_that(table: ReplicaTable, holds: Callable[[Served], NDArray[np.bool_]]) -> Counts:
    """`replica.most_that` for all kinds and contexts at once: the same halving, in step."""
    low, high = np.zeros_like(table.memory_sessions), table.memory_sessions.copy()
    while (searched := low < high).any():
        middle = (low + high + 1) // 2
        held = holds(_served(table, np.maximum(middle, 1)))
        low = np.where(searched & held, middle, low)
        high = np.where(searched & ~held, middle - 1, high)
    return low


def _engine(spec: ExploreSpec, kind: FitSpec) -> Engine:
    links = links_of(kind.layout, spec.layouts, _link_of(spec.link, kind.gpu))
    return engine_of(performance_spec(kind, spec.need, links))


def _link_of(name: str | None, gpu: GpuSpec) -> str | None:
    """The link that was asked for, or the GPU's fastest where it has none of that name."""
    try:
        return find_link(name, gpu).name
    except InputError:
        return None


def _columns(engines: Sequence[Engine]) -> Engine:
    def stacked(rows: list[Sequence[float]], width: int) -> list[Floats]:
        table = np.array(rows, dtype=np.float64).reshape(-1, width)
        return [table[:, at : at + 1] for at in range(width)]

    return Engine(
        Work(*stacked([each.work for each in engines], len(Work._fields))),
        Pace(*stacked([each.pace for each in engines], len(Pace._fields))),
        Serving(*stacked([each.serve for each in engines], len(Serving._fields))),
    )
