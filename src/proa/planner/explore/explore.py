"""The search over the whole space: what meets the need, and the points that nothing beats."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from proa.planner.explore.pareto import pareto_front
from proa.planner.explore.spec import ExploreSpec
from proa.planner.explore.table import Counts, Floats, ReplicaTable, replica_table, served_at
from proa.planner.explore.texts import MEASURES, Figures, point_text
from proa.planner.place.need import Limit
from proa.planner.text import Text

_TOLERANCES = (0.02, 0.05, 0.1, 0.2, 0.4)


class ExplorePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration of the front: what it is, and the four things that it is judged by.

    `price` is that of all GPUs, None where it is not known; `power_w` their TDP together;
    `user_tokens_per_s` at the need's sessions; `headroom` the sessions beyond the need's that
    still hold everything, as a share (0.5 is half as many again). `best_in` names the measures
    (`price`, `power`, `speed`, `headroom`) in which this is the best of all that meet the need;
    `why` says so, and what it buys for how much beside the first point of its context.
    """

    model: str
    weights: str
    kv_dtype: str
    engine: str
    gpu: str
    gpus: int
    tensor_parallel: int
    pipeline_parallel: int
    expert_parallel: bool
    replicas: int
    context_tokens: int
    price: float | None
    power_w: float
    user_tokens_per_s: float
    ttft_p95_s: float
    headroom: float
    max_sessions: int
    binding: Limit
    best_in: tuple[str, ...]
    why: Text = Text("", "")

    @property
    def figures(self) -> Figures:
        """What it is judged by."""
        return Figures(self.price, self.power_w, self.user_tokens_per_s, self.headroom)


class ExplorePlan(msgspec.Struct, frozen=True, kw_only=True):
    """How much was walked, how much of it meets the need, and the front of each context.

    Points are in order of context, then of price (unknown ones last), then of power.
    """

    walked: int
    met: int
    points: tuple[ExplorePoint, ...]


class _Met(NamedTuple):
    """Configurations that meet the need; one row each."""

    kind: NDArray[np.intp]
    context: NDArray[np.intp]
    replicas: Counts
    most: Counts


def explore(spec: ExploreSpec, *, most_points: int = 12) -> ExplorePlan:
    """Walk the space, keep what meets the need, and return the front of each context.

    A configuration meets the need if replicas x sessions of one replica >= sessions, where one
    replica's sessions are those up to which memory, speed and time to first token hold.
    The front: no other configuration of that context is better in price, power, speed and
    headroom at once, headroom of more than the need once again counting as that. Figures within
    a few per cent count as equal, so that a front has at most about `most_points` points; the
    finest step of 2 to 40 % that achieves it is taken. The best in each measure is always there.

    Raises:
        FieldError: the space is empty, or a context leaves no room for an input.
    """
    table = replica_table(spec)
    replicas: Counts = np.array(sorted(set(spec.replicas)), dtype=np.int64)
    gpus: Counts = np.array([kind.layout.gpus for kind in table.kinds], dtype=np.int64)
    met = _met(spec, table, replicas, gpus)
    walked = int((table.tried[:, None] * replicas <= spec.most_gpus).sum()) * len(table.needs)
    served = served_at(table, (met.kind, met.context), -(-spec.need.sessions // met.replicas))
    losses = _losses(spec, table, met, served.tpot_s)
    points: list[ExplorePoint] = []
    for context in range(len(table.needs)):
        rows = np.flatnonzero(met.context == context)
        if not len(rows):
            continue
        winners = _winners(losses[rows])
        for at in sorted({*_front(losses[rows], most_points).tolist(), *winners.values()}):
            row = int(rows[at])
            names = tuple(name for name, winner in winners.items() if winner == at)
            figures = (float(served.tpot_s[row]), float(served.ttft_p95_s[row]))
            points.append(_point(spec, table, _row(met, row), figures, names))
    return ExplorePlan(walked=walked, met=len(met.kind), points=tuple(_explained(points)))


def _explained(points: list[ExplorePoint]) -> Iterator[ExplorePoint]:
    """In order, each beside the first of its context."""
    bases: dict[int, Figures] = {}
    for point in sorted(points, key=_order):
        base = bases.setdefault(point.context_tokens, point.figures)
        why = point_text(point.figures, base, point.best_in)
        yield msgspec.structs.replace(point, why=why)


def _met(spec: ExploreSpec, table: ReplicaTable, replicas: Counts, gpus: Counts) -> _Met:
    """Rows of the grid [kinds, contexts, replicas] in which every condition holds."""
    most = table.sessions[:, :, None] * replicas
    within = (gpus[:, None] * replicas <= spec.most_gpus)[:, None, :]
    kind, context, count = np.nonzero((most >= spec.need.sessions) & within)
    return _Met(kind, context, replicas[count], most[kind, context, count])


def _row(met: _Met, row: int) -> tuple[int, int, int, int]:
    return int(met.kind[row]), int(met.context[row]), int(met.replicas[row]), int(met.most[row])


_ENOUGH_HEADROOM = 2.0
"""Times the need's sessions above which more of them is no gain: another year's growth is bought
when it comes, and without an end the front would only list ever larger halls."""


def _losses(spec: ExploreSpec, table: ReplicaTable, met: _Met, tpot_s: Floats) -> Floats:
    """Price, power, time per token, and the need's share of what is carried: all to be small."""
    kinds = table.kinds
    prices = np.array([spec.price(kind.gpu) or np.inf for kind in kinds])
    watts = np.array([kind.gpu.tdp_w for kind in kinds])
    gpus = met.replicas * np.array([kind.layout.gpus for kind in kinds], dtype=np.int64)[met.kind]
    columns = (
        prices[met.kind] * gpus,
        watts[met.kind] * gpus,
        tpot_s,
        1 / np.minimum(met.most / spec.need.sessions, _ENOUGH_HEADROOM),
    )
    return np.stack(columns, axis=1)


def _front(losses: Floats, most_points: int) -> NDArray[np.intp]:
    front = np.empty(0, dtype=np.intp)
    for tolerance in _TOLERANCES:
        front = pareto_front(losses, tolerance=tolerance)
        if len(front) <= most_points:
            break
    return front


def _winners(losses: Floats) -> dict[str, int]:
    """The row that is best in each measure, of equal ones by the other measures in their order."""
    found = {}
    for at, name in enumerate(MEASURES):
        best = np.flatnonzero(losses[:, at] == losses[:, at].min())
        others = [losses[best, column] for column in reversed(range(len(MEASURES)))]
        row = int(best[np.lexsort(others)[0]])
        if np.isfinite(losses[row, at]):
            found[name] = row
    return found


def _point(
    spec: ExploreSpec,
    table: ReplicaTable,
    row: tuple[int, int, int, int],
    figures: tuple[float, float],
    best_in: tuple[str, ...],
) -> ExplorePoint:
    at, context, replicas, most = row
    start, need = table.kinds[at], table.needs[context]
    gpus, price = replicas * start.layout.gpus, spec.price(start.gpu)
    quantization = start.llm.quantization
    return ExplorePoint(
        model=start.llm.id,
        weights=quantization.format.value if quantization else "bf16",
        kv_dtype=start.kv_dtype.value,
        engine=start.engine,
        gpu=start.gpu.id,
        gpus=gpus,
        tensor_parallel=start.layout.tensor_parallel,
        pipeline_parallel=start.layout.pipeline_parallel,
        expert_parallel=start.layout.expert_parallel,
        replicas=replicas,
        context_tokens=need.context_tokens,
        price=None if price is None else price * gpus,
        power_w=start.gpu.tdp_w * gpus,
        user_tokens_per_s=1 / figures[0],
        ttft_p95_s=figures[1],
        headroom=most / spec.need.sessions - 1,
        max_sessions=most,
        binding=table.binding(at, context),
        best_in=best_in,
    )


def _order(point: ExplorePoint) -> tuple[int, float, float]:
    return point.context_tokens, np.inf if point.price is None else point.price, point.power_w
