"""The pairs of engines: two step times each, virtual or emulated."""

from dataclasses import dataclass, replace

from benchmarks.policies.virtual import VirtualEngineSpec
from proa.domain.timing import StepTime

USER_TOKENS_PER_S = 30.0
ATTAINMENT = 0.95
SHORTEST, LONGEST = 30, 400
"""Output tokens are drawn evenly between them."""

MAIN = VirtualEngineSpec(
    "main", StepTime(base_s=0.00635, per_sequence_s=0.000314), prefill_tokens_per_s=20_000.0
)
AUX = VirtualEngineSpec(
    "aux", StepTime(base_s=0.0125, per_sequence_s=0.00069), prefill_tokens_per_s=8_000.0
)


@dataclass(frozen=True)
class PairSpec:
    """A main and an auxiliary engine."""

    name: str
    main: VirtualEngineSpec
    aux: VirtualEngineSpec

    @property
    def engines(self) -> tuple[VirtualEngineSpec, VirtualEngineSpec]:
        return self.main, self.aux

    @property
    def limits(self) -> tuple[int, int]:
        """Users that each engine carries at `USER_TOKENS_PER_S`, if it has no prompts to read."""
        return _limit(self.main.step), _limit(self.aux.step)


def _limit(step: StepTime) -> int:
    return max(0, int((1.0 / USER_TOKENS_PER_S - step.base_s) / step.per_sequence_s))


def _slower(times: float) -> VirtualEngineSpec:
    step = MAIN.step
    return replace(
        MAIN,
        name="aux",
        step=StepTime(base_s=step.base_s * times, per_sequence_s=step.per_sequence_s * times),
        prefill_tokens_per_s=MAIN.prefill_tokens_per_s / times,
    )


REFERENCE = PairSpec("reference", MAIN, AUX)
PAIRS = {
    pair.name: pair
    for pair in (
        REFERENCE,
        *(PairSpec(f"{times}:1", MAIN, _slower(float(times))) for times in (1, 2, 3, 10)),
    )
}
