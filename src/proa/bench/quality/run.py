"""The same questions to both endpoints, some at a time; the answers as they came."""

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

import proa
from proa.bench.calibration import prepare
from proa.bench.lengths import LengthSpec
from proa.bench.quality.answers import QualityAnswer, ask, takes_logprobs
from proa.bench.quality.cases import QualityCase
from proa.bench.quality.needle import NeedleSpec, needle_cases
from proa.bench.target import TargetSpec
from proa.bench.workloads import Language, WorkloadSpec
from proa.errors import FieldError

SIDES = ("a", "b")
AGAIN = "a again"


class QualitySpec(msgspec.Struct, frozen=True, kw_only=True):
    """`needle` adds cases whose lengths follow a's own count of tokens.

    `users` questions are in flight at each side. `repeat` asks a everything twice: how often
    it agrees with itself is what b can reach at most. `margin` is the share of right answers
    that b may lose (None: not asked).
    """

    a: TargetSpec
    b: TargetSpec
    cases: list[QualityCase] = []
    needle: NeedleSpec | None = None
    users: int = 4
    repeat: bool = False
    margin: float | None = None
    timeout_s: float = 300.0


class QualityStart(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before the first answer; `cases` are all, generated ones too."""

    spec: QualitySpec
    targets: tuple[TargetSpec, TargetSpec]
    cases: list[QualityCase]
    origin_unix_s: float
    proa: str = proa.__version__

    @property
    def sides(self) -> tuple[str, ...]:
        return (*SIDES, AGAIN) if self.spec.repeat else SIDES


class QualityEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended."""

    is_interrupted: bool
    took_s: float


class QualityResult(msgspec.Struct, frozen=True):
    """`answers` by side, then case; a side has no answer to a case that was not asked."""

    start: QualityStart
    answers: dict[str, dict[str, QualityAnswer]]
    end: QualityEnd


class QualityRun:
    """Runs `spec` once; `on_answer` gets each answer, how many there are, and of how many."""

    def __init__(
        self,
        spec: QualitySpec,
        *,
        on_phase: Callable[[str], None] = lambda _: None,
        on_start: Callable[[QualityStart], None] = lambda _: None,
        on_answer: Callable[[QualityAnswer, int, int], None] = lambda _, _count, _of: None,
    ) -> None:
        self._spec = spec
        self._on_phase = on_phase
        self._on_start = on_start
        self._on_answer = on_answer
        self._answers: dict[str, dict[str, QualityAnswer]] = {}
        self._asking: asyncio.Future[list[None]] | None = None
        self._interrupted = False
        self._wanted = 0

    def interrupt(self) -> None:
        """End now; whole answers are kept."""
        self._interrupted = True
        if self._asking is not None:
            self._asking.cancel()

    async def run(self) -> QualityResult:
        """Raises UpstreamError: an endpoint cannot be used."""
        spec, origin_unix_s, begun_s = self._spec, time.time(), time.monotonic()
        self._on_phase("prepare")
        a, b = [await self._prepared(target) for target in (spec.a, spec.b)]
        cases = [*spec.cases, *await self._needles(a)]
        _refuse_twins(cases)
        start = QualityStart(spec=spec, targets=(a, b), cases=cases, origin_unix_s=origin_unix_s)
        targets = dict(zip(start.sides, (a, b, a), strict=False))
        self._answers = {name: {} for name in targets}
        self._wanted = len(cases) * len(targets)
        self._on_start(start)
        tells = await self._tell_logprobs((a, b), cases[0])
        self._on_phase("asking")
        work = [self._side(name, target, cases, logprobs=tells) for name, target in targets.items()]
        if not self._interrupted:
            self._asking = asyncio.gather(*work)
            try:
                await self._asking
            except asyncio.CancelledError:
                if not self._interrupted:
                    raise
        took_s = time.monotonic() - begun_s
        end = QualityEnd(is_interrupted=self._interrupted, took_s=took_s)
        return QualityResult(start, self._answers, end)

    async def _prepared(self, target: TargetSpec) -> TargetSpec:
        short = WorkloadSpec(input=LengthSpec(60), output=LengthSpec(2))
        return (await prepare(target, short, timeout_s=self._spec.timeout_s)).target

    async def _needles(self, target: TargetSpec) -> list[QualityCase]:
        needle = self._spec.needle
        if needle is None:
            return []
        scales = {}
        for language in needle.languages:
            workload = WorkloadSpec(
                input=LengthSpec(min(needle.lengths)), output=LengthSpec(2), language=language
            )
            load = await prepare(target, workload, timeout_s=self._spec.timeout_s)
            scales[Language(language)] = load.scale
        return needle_cases(needle, scales)

    async def _tell_logprobs(self, targets: Sequence[TargetSpec], case: QualityCase) -> bool:
        """Whether both tell them: the shift needs both."""
        timeout_s = self._spec.timeout_s
        told = [await takes_logprobs(target, case, timeout_s=timeout_s) for target in targets]
        return all(told)

    async def _side(
        self, name: str, target: TargetSpec, cases: Sequence[QualityCase], *, logprobs: bool
    ) -> None:
        own = self._answers[name]
        left = iter(cases)

        async def user() -> None:
            for case in left:
                answer = await ask(target, case, logprobs=logprobs, timeout_s=self._spec.timeout_s)
                own[case.id] = msgspec.structs.replace(answer, side=name)
                count = sum(map(len, self._answers.values()))
                self._on_answer(own[case.id], count, self._wanted)

        await asyncio.gather(*(user() for _ in range(self._spec.users)))


def _refuse_twins(cases: Sequence[QualityCase]) -> None:
    """Raises FieldError: two questions have one id, as a file's and a generated one may."""
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise FieldError("id", case.id, "an id that no other question has")
        seen.add(case.id)
