"""A combination: blocks of load on the main server, the auxiliary one, and both behind one."""

import time
from collections.abc import Callable

import msgspec

import proa
from proa.bench.calibration import prepare
from proa.bench.combine.spec import PARTS, Block, CombineSpec, block_order
from proa.bench.crew import Crew
from proa.bench.decode import VisitLabel
from proa.bench.levels import level_stats
from proa.bench.listener import RunListener
from proa.bench.process_messages import Begin, LoadSpec, TargetLoad
from proa.bench.run import LevelVisit
from proa.bench.run_spec import LevelSpec
from proa.bench.self_check import SelfCheck, self_check
from proa.bench.target import any_tls
from proa.bench.visit import Progress, Visit, VisitResult
from proa.bench.window import WindowSpec

_LEAD_S = 0.05


class CombineStart(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before the first block; `proa` is the version that measured."""

    spec: CombineSpec
    targets: list[TargetLoad]
    check: SelfCheck | None
    origin_unix_s: float
    proa: str = proa.__version__


class CombineEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended."""

    is_interrupted: bool
    took_s: float


class CombineResult(msgspec.Struct, frozen=True):
    """All blocks that were measured whole, in the order of their measurement."""

    start: CombineStart
    blocks: list[Block]
    end: CombineEnd


class CombineRun:
    """Runs `spec` once.

    `on_start` gets the monotonic clock's zero of all times, too; `on_block` each whole block,
    of which `listener` is told as of a run's visit.
    """

    def __init__(
        self,
        spec: CombineSpec,
        *,
        on_phase: Callable[[str], None] = lambda _: None,
        on_progress: Progress | None = None,
        on_start: Callable[[CombineStart, float], None] = lambda _start, _origin_s: None,
        on_block: Callable[[Block], None] = lambda _: None,
        listener: RunListener | None = None,
    ) -> None:
        self._spec = spec
        self._on_phase = on_phase
        self._on_progress = on_progress
        self._listener = listener or RunListener()
        self._on_start = on_start
        self._on_block = on_block
        self._interrupted = False
        self._visit: Visit | None = None
        self._blocks: list[Block] = []
        self._next_number = 0
        self._begun_s = time.monotonic()

    def interrupt(self) -> None:
        """End now; whole blocks are kept."""
        self._interrupted = True
        if self._visit is not None:
            self._visit.interrupt()

    async def run(self) -> CombineResult:
        """Raises UpstreamError: a part cannot be used."""
        spec, origin_unix_s = self._spec, time.time()
        self._begun_s = time.monotonic()
        self._on_phase("prepare")
        targets = [await prepare(t, spec.workload, timeout_s=spec.timeout_s) for t in spec.targets]
        check = None
        async with Crew(spec.sites) as crew:
            if spec.self_check_s:
                self._on_phase("self_check")
                check = await self_check(
                    crew, spec.workload, users=max(spec.users), seconds=spec.self_check_s,
                    held_back=LoadSpec(asks_kernel=not any_tls(spec.targets)),
                )  # fmt: skip
            start = CombineStart(
                spec=spec, targets=targets, check=check, origin_unix_s=origin_unix_s
            )
            self._on_start(start, self._begun_s)
            for index, part in block_order(spec.rounds, seed=spec.seed):
                if self._interrupted:
                    break
                self._on_phase(f"part_{PARTS[part]}")
                await self._block(crew, targets[part], index, part)
        took_s = time.monotonic() - self._begun_s
        end = CombineEnd(is_interrupted=self._interrupted, took_s=took_s)
        return CombineResult(start, self._blocks, end)

    async def _block(self, crew: Crew, target: TargetLoad, index: int, part: int) -> None:
        spec, users = self._spec, self._spec.users[part]
        begin = Begin(
            targets=[target],
            workload=spec.workload,
            load=LoadSpec(users=users, stagger_s=spec.warmup_s / 2, timeout_s=spec.timeout_s),
            begin_s=time.monotonic() + max(spec.settle_s, _LEAD_S),
            first_number=self._next_number,
        )
        window = WindowSpec(warmup_s=spec.warmup_s, duration_s=spec.duration_s)
        label = VisitLabel(len(self._blocks), users=users)
        self._visit = Visit(begin, label, window, origin_s=self._begun_s, listener=self._listener)
        self._listener.level(label, begin.begin_s - self._begun_s, [])
        result = await self._visit.run(crew, self._on_progress)
        self._visit = None
        self._next_number = result.next_number
        if self._interrupted:
            return
        block = block_of(result, index, part)
        self._blocks.append(block)
        self._on_block(block)
        self._listener.visit(
            LevelVisit(level=LevelSpec(users), stats=block.stats, result=result), []
        )


def block_of(result: VisitResult, index: int, part: int) -> Block:
    """A visit as a block of a round, with its numbers."""
    stats = level_stats(result.samples, result.window, result.client)
    return Block(round=index, part=part, stats=stats, window=result.window, samples=result.samples)
