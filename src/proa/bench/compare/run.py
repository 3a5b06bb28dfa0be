"""A comparison: both sides prepared alike, then pairs, one request in flight at any time."""

import gc
import time
from collections.abc import Callable
from enum import StrEnum

import msgspec

import proa
from proa.bench.body import BodySpec, body_of, prompt_hash
from proa.bench.calibration import prepare
from proa.bench.client_process import runqueue_s
from proa.bench.compare.asker import Asker
from proa.bench.compare.plan import PlannedPair, pair_prompts, planned_rounds
from proa.bench.compare.shifts import ttft_shift
from proa.bench.compare.spec import SIDES, CompareSpec, PairSample
from proa.bench.decode import VisitLabel, decoded
from proa.bench.lengths import LengthSpec
from proa.bench.process_messages import TargetLoad
from proa.bench.raw import Asked
from proa.bench.sample import RequestSample
from proa.bench.workloads import Prompts, WorkloadSpec
from proa.errors import UpstreamError


class Stopped(StrEnum):
    """Why no more pairs were measured."""

    ROUNDS = "rounds"
    TIME = "time"
    PRECISE = "precise"
    INTERRUPTED = "interrupted"


class CompareStart(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before the first pair; `proa` is the version that measured."""

    spec: CompareSpec
    targets: list[TargetLoad]
    origin_unix_s: float
    proa: str = proa.__version__


class CompareEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended.

    `reopened` counts connections that each side had closed after an answer; `runqueue_share`
    is the share of the time that this process waited for a CPU (None: not told).
    """

    stopped: Stopped
    took_s: float
    reopened: tuple[int, int] = (0, 0)
    runqueue_share: float | None = None


class CompareResult(msgspec.Struct, frozen=True):
    """All pairs in the order of their measurement, warm-up included."""

    start: CompareStart
    pairs: list[PairSample]
    end: CompareEnd

    @property
    def measured(self) -> list[PairSample]:
        return [pair for pair in self.pairs if not pair.is_warmup]


class CompareRun:
    """Runs `spec` once; `on_round` gets all pairs so far after each round."""

    def __init__(
        self,
        spec: CompareSpec,
        *,
        on_phase: Callable[[str], None] = lambda _: None,
        on_start: Callable[[CompareStart], None] = lambda _: None,
        on_round: Callable[[list[PairSample]], None] = lambda _: None,
    ) -> None:
        self._spec = spec
        self._on_phase = on_phase
        self._on_start = on_start
        self._on_round = on_round
        self._stopped: Stopped | None = None
        self._asker: Asker | None = None
        self._pairs: list[PairSample] = []
        self._begun_s = time.monotonic()

    def interrupt(self) -> None:
        """End now; whole pairs are kept."""
        self._stopped = Stopped.INTERRUPTED
        if self._asker is not None:
            self._asker.stop()

    async def run(self) -> CompareResult:
        """Raises UpstreamError: a side cannot be used."""
        spec = self._spec
        origin_unix_s = time.time()
        self._on_phase("prepare")
        workload = WorkloadSpec(
            input=spec.input, output=LengthSpec(max(spec.tokens)), language=spec.language,
            force_output=spec.force_output, seed=spec.seed,
        )  # fmt: skip
        targets = _alike(
            [
                await prepare(target, workload, timeout_s=spec.timeout_s)
                for target in (spec.direct, spec.gateway)
            ]
        )
        start = CompareStart(spec=spec, targets=targets, origin_unix_s=origin_unix_s)
        self._on_start(start)
        self._asker = asker = Asker([t.target for t in targets], timeout_s=spec.timeout_s)
        prompts = Prompts(workload, targets[0].scale)
        self._begun_s, waited_s = time.monotonic(), runqueue_s()
        gc.collect()
        gc.freeze()
        gc.disable()
        try:
            await self._rounds(targets, prompts)
        except OSError as error:
            raise UpstreamError(f"{' or '.join(SIDES)}: {error}") from None
        finally:
            gc.enable()
            gc.unfreeze()
            asker.stop()
        took_s = time.monotonic() - self._begun_s
        end = CompareEnd(
            stopped=self._stopped or Stopped.ROUNDS,
            took_s=took_s,
            reopened=(asker.reopened[0], asker.reopened[1]),
            runqueue_share=(runqueue_s() - waited_s) / took_s if took_s else 0.0,
        )
        return CompareResult(start, self._pairs, end)

    async def _rounds(self, targets: list[TargetLoad], prompts: Prompts) -> None:
        spec = self._spec
        self._on_phase("warmup")
        for planned in planned_rounds(spec.tokens, seed=spec.seed, probes=spec.probes):
            index = planned[0].round - spec.warmup_rounds
            if index >= spec.rounds or self._is_over():
                return
            for pair in planned:
                measured = await self._pair(pair, targets, prompts, is_warmup=index < 0)
                if measured is None:
                    return
                self._pairs.append(measured)
            self._on_round(self._pairs)

    def _is_over(self) -> bool:
        """Whether the time is up, or the interval narrow enough."""
        spec = self._spec
        if time.monotonic() - self._begun_s >= spec.max_time_s:
            self._stopped = Stopped.TIME
        elif spec.half_width_s is not None:
            width_s = ttft_shift([p for p in self._pairs if not p.is_warmup]).half_width
            if width_s is not None and width_s <= spec.half_width_s:
                self._stopped = Stopped.PRECISE
        return self._stopped is not None

    async def _pair(
        self, pair: PlannedPair, targets: list[TargetLoad], prompts: Prompts, *, is_warmup: bool
    ) -> PairSample | None:
        """None where it was interrupted."""
        samples: dict[int, RequestSample] = {}
        for side in (0, 1) if pair.direct_first else (1, 0):
            # The same work before each request: an idle process wakes up slower than a busy one.
            prompt, load = pair_prompts(prompts, pair)[side], targets[side]
            body = body_of(load.target, prompt, load.body)
            asked = Asked(
                pair.numbers[side], side, 0, prompt_hash(body), prompt.input_tokens, pair.tokens
            )
            if self._stopped is None and self._asker is not None:
                raw = await self._asker.ask(asked, body)
                label = VisitLabel(pair.round, users=1)
                samples[side] = decoded(raw, label, SIDES, origin_s=self._begun_s)
        if self._stopped is not None:
            return None
        return PairSample(
            round=pair.round,
            tokens=pair.tokens,
            direct_first=pair.direct_first,
            direct=samples[0],
            gateway=samples[1],
            is_warmup=is_warmup,
            is_probe=pair.is_probe,
        )


def _alike(targets: list[TargetLoad]) -> list[TargetLoad]:
    """Both get the fields that both take, and the same scale from tokens to words."""
    body = BodySpec(
        force=all(load.body.force for load in targets),
        usage=all(load.body.usage for load in targets),
    )
    return [TargetLoad(load.target, body, targets[0].scale) for load in targets]
