"""What a whole run is asked to do, and in which order it visits its levels."""

import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from proa.bench.arrivals import Arrival, ArrivalSpec
from proa.bench.gauges import GaugeSpec
from proa.bench.process_messages import LoadSpec
from proa.bench.slo import SloSpec
from proa.bench.target import TargetSpec
from proa.bench.window import WindowSpec
from proa.bench.workloads import WorkloadSpec
from proa.errors import FieldError

if TYPE_CHECKING:
    from proa.bench.run import LevelVisit

DEFAULT_USERS = (8, 16, 24, 32, 48)


class Order(StrEnum):
    """In which order levels come. Ascending lets drift and cache look like load."""

    RANDOM = "random"
    ASCENDING = "ascending"


class LevelSpec(msgspec.Struct, frozen=True):
    """One level: users in a closed loop, a rate of an open one, or (both None) the trace."""

    users: int | None = None
    rate: float | None = None


NextLevel = Callable[[Sequence["LevelVisit"]], LevelSpec | None]
"""Which level to visit after those so far; None ends the run."""


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A run over levels.

    `processes` 0 takes as many client processes as the self-check finds enough. The first
    level is visited once more at the end where `repeat_first`, to tell drift.
    `settle_s` passes between levels. `notes` are what the user tells of the conditions.
    `max_time_s` ends the run, whatever is left. With `search`, an SLO and levels of users, the
    boundary is searched for between them, and a level ends as soon as it is settled.
    """

    targets: tuple[TargetSpec, ...]
    workload: WorkloadSpec = WorkloadSpec()
    users: tuple[int, ...] = DEFAULT_USERS
    rates: tuple[float, ...] = ()
    arrival: Arrival = Arrival.POISSON
    burstiness: float = 1.0
    order: Order = Order.RANDOM
    repeat_first: bool = True
    search: bool = False
    window: WindowSpec = WindowSpec()
    slo: SloSpec | None = None
    timeout_s: float = 300.0
    max_concurrency: int | None = None
    max_connections: int | None = None
    max_time_s: float | None = None
    settle_s: float = 1.0
    processes: int = 0
    self_check_s: float = 5.0
    stagger_s: float | None = None
    seed: int = 0
    gauges: GaugeSpec = GaugeSpec()
    notes: dict[str, str] = {}

    def __post_init__(self) -> None:
        if not self.targets:
            raise FieldError("target", "", "at least one address")
        for users in self.users:
            if users < 1:
                raise FieldError("levels", users, "users, 1 or more")
        if self.max_concurrency is not None and self.max_concurrency < 1:
            raise FieldError("max_concurrency", self.max_concurrency, "1 or more")

    @property
    def levels(self) -> list[LevelSpec]:
        """The levels as they were asked: a trace, else rates, else users."""
        if self.workload.trace:
            return [LevelSpec()]
        if self.rates:
            return [LevelSpec(rate=rate) for rate in self.rates]
        return [LevelSpec(users=users) for users in self.users]

    def load(self, level: LevelSpec, visit: int) -> LoadSpec:
        """The load of one visit."""
        arrivals = None
        if level.rate is not None:
            seed = self.seed * 1000 + visit
            arrivals = ArrivalSpec(level.rate, self.arrival, self.burstiness, seed)
        stagger_s = self.window.warmup_s / 2 if self.stagger_s is None else self.stagger_s
        return LoadSpec(
            users=level.users,
            arrivals=arrivals,
            stagger_s=stagger_s,
            max_concurrency=self.max_concurrency if level.users is None else None,
            max_connections=self.max_connections,
            timeout_s=self.timeout_s,
        )


def visits_of(spec: RunSpec) -> list[LevelSpec]:
    """All levels once in the order asked, then the first one again."""
    levels = list(spec.levels)
    if spec.order is Order.RANDOM:
        random.Random(spec.seed).shuffle(levels)
    else:
        levels.sort(key=lambda level: (level.users or 0, level.rate or 0.0))
    if spec.repeat_first and len(levels) > 1:
        levels.append(levels[0])
    return levels


def in_order(levels: Sequence[LevelSpec]) -> NextLevel:
    """Visit a fixed list."""

    def following(visits: Sequence["LevelVisit"]) -> LevelSpec | None:
        return levels[len(visits)] if len(visits) < len(levels) else None

    return following
