"""What a comparison is asked to do, and what it keeps of each pair."""

import msgspec

from proa.bench.lengths import LengthSpec
from proa.bench.sample import RequestSample
from proa.bench.target import TargetSpec
from proa.bench.workloads import Language
from proa.errors import FieldError

SIDES = ("direct", "gateway")
PROBE_TOKENS = 2


class CompareSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Each round asks both sides for each of the output lengths `tokens`, in random order, and
    `probes` times for two tokens, which cost little and make the shift of the TTFT precise.

    It ends after `rounds`, after `max_time_s`, or as soon as the interval of the TTFT's shift
    is at most ± `half_width_s` wide (None: not asked). `margin_s` bounds the shift of the TTFT,
    `token_margin_s` that per token; None tests nothing. `force_output` asks for exactly so
    many tokens where the engine takes it.
    """

    direct: TargetSpec
    gateway: TargetSpec
    tokens: tuple[int, ...] = (50, 200, 500)
    input: LengthSpec = LengthSpec(200)
    language: Language = Language.ENGLISH
    rounds: int = 100
    probes: int = 8
    warmup_rounds: int = 1
    max_time_s: float = 180.0
    half_width_s: float | None = None
    margin_s: float | None = None
    token_margin_s: float | None = None
    force_output: bool = True
    timeout_s: float = 300.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.tokens or min(self.tokens) < 1:
            raise FieldError("tokens", self.tokens, "output lengths of 1 or more, as 50,200,500")
        if self.rounds < 1:
            raise FieldError("rounds", self.rounds, "1 or more")


class PairSample(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt's two requests, one after the other; `tokens` is the length asked.

    A probe counts for the TTFT alone.
    """

    round: int
    tokens: int
    direct_first: bool
    direct: RequestSample
    gateway: RequestSample
    is_warmup: bool = False
    is_probe: bool = False

    @property
    def sides(self) -> tuple[RequestSample, RequestSample]:
        """Direct, gateway."""
        return self.direct, self.gateway

    @property
    def is_whole(self) -> bool:
        """Whether both were answered in full."""
        return all(s.failure is None and not s.is_stopped for s in self.sides)
