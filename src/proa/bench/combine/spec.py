"""What a combination is asked to do, and what it keeps of each block."""

import random

import msgspec

from proa.bench.levels import LevelStats
from proa.bench.sample import RequestSample
from proa.bench.target import TargetSpec
from proa.bench.window import LevelWindow
from proa.bench.workloads import WorkloadSpec
from proa.errors import FieldError

PARTS = ("main", "aux", "together")
FEWEST_ROUNDS = 3


class CombineSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`rounds` blocks of each part, a round's three in random order.

    A block is `warmup_s` and `duration_s` of a closed loop of `users` (main, aux, together),
    divided among `sites` client processes; `settle_s` passes before it. `min_gain` bounds
    T(together) / T(main).
    """

    targets: tuple[TargetSpec, TargetSpec, TargetSpec]
    users: tuple[int, int, int] = (16, 16, 16)
    sites: int = 1
    rounds: int = 3
    warmup_s: float = 5.0
    duration_s: float = 20.0
    settle_s: float = 1.0
    self_check_s: float = 5.0
    timeout_s: float = 300.0
    min_gain: float | None = None
    workload: WorkloadSpec = WorkloadSpec()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rounds < FEWEST_ROUNDS:
            raise FieldError("rounds", self.rounds, "3 or more: fewer carry no interval")
        if self.sites < 1:
            raise FieldError("sites", self.sites, "1 or more")
        if min(self.users) < self.sites:
            raise FieldError(
                "users", min(self.users), f"at least one for each of {self.sites} sites"
            )


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One block as measured; `part` indexes PARTS."""

    round: int
    part: int
    stats: LevelStats
    window: LevelWindow
    samples: list[RequestSample]

    @property
    def tokens_per_s(self) -> float:
        """All sites' output tokens in the window, by the time of their events."""
        return self.stats.aggregate_tokens_per_s or 0.0


def block_order(rounds: int, *, seed: int) -> list[tuple[int, int]]:
    """(round, part): each round has each part once, in an order of its own."""
    dice = random.Random(f"{seed} blocks")
    parts = range(len(PARTS))
    return [(index, part) for index in range(rounds) for part in dice.sample(parts, len(parts))]
