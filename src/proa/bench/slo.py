"""What a level must keep: bounds on a request's metrics, and how many requests must keep them."""

import re
from collections.abc import Sequence

import msgspec

from proa.bench.sample import RequestSample
from proa.domain.contract import ContractRule, ContractSpec
from proa.errors import FieldError, UpstreamError

LENGTH_TOLERANCE = 0.05
"""An answer may be so much shorter or longer than forced."""

_METRICS = ("user_tokens_per_s", "user_tokens_per_s_e2e", "ttft_s", "visible_ttft_s",
            "scheduled_ttft_s", "scheduled_e2e_s", "tpot_s", "e2e_s")  # fmt: skip
_BOUND = re.compile(r"([a-z0-9_]+)\s*(<=|>=)\s*([0-9]+(?:\.[0-9]+)?)(%?)")
_ACCEPTED = f"METRIC<=NUMBER or METRIC>=NUMBER of {', '.join(_METRICS)}, error_rate"
ERROR_RATE = "error_rate"


class Bound(msgspec.Struct, frozen=True):
    """`metric <= value`, or >= where `at_least`; seconds, tokens per second."""

    metric: str
    value: float
    at_least: bool

    def holds(self, value: float) -> bool:
        return value >= self.value if self.at_least else value <= self.value


class SloSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`attainment` of the requests must keep all `bounds`; failures keep none.

    With the rule "mean", the means of the successes must, and the attainment is told beside.
    `error_rate` is a share of all requests, from 0 to 1.
    """

    bounds: tuple[Bound, ...] = ()
    attainment: float = 0.95
    rule: ContractRule = ContractRule.PER_REQUEST
    error_rate: float | None = None
    forced_length: bool = True


def parse_slo(
    text: str, *, attainment: float = 0.95, rule: ContractRule = ContractRule.PER_REQUEST
) -> SloSpec:
    """`"user_tokens_per_s>=30,ttft_s<=2"`; shares as `error_rate<=0.05` or `<=5%`.

    Raises:
        FieldError: another form, an unknown metric, a share above 1.
    """
    bounds, error_rate = [], None
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        found = _BOUND.fullmatch(part)
        name = found[1] if found else ""
        if found is None or name not in (*_METRICS, ERROR_RATE):
            raise FieldError("slo", part, _ACCEPTED)
        value = float(found[3]) / (100 if found[4] else 1)
        if name == ERROR_RATE:
            if found[2] == ">=" or value > 1:
                raise FieldError("slo", part, "error_rate<=SHARE from 0 to 1, or with %")
            error_rate = value
        elif found[4]:
            raise FieldError("slo", part, "% with error_rate only")
        else:
            bounds.append(Bound(name, value, found[2] == ">="))
    if not bounds and error_rate is None:
        raise FieldError("slo", text, _ACCEPTED)
    return SloSpec(bounds=tuple(bounds), attainment=attainment, rule=rule, error_rate=error_rate)


def contract_slo(contract: ContractSpec) -> SloSpec:
    """What a level at the promised load must keep.

    `ttft_p95_s` bounds each request's TTFT: with an attainment of 0.95 that is its P95.
    """
    bounds = [Bound("user_tokens_per_s", contract.user_tokens_per_s, at_least=True)]
    if contract.ttft_p95_s is not None:
        bounds.append(Bound("ttft_s", contract.ttft_p95_s, at_least=False))
    return SloSpec(bounds=tuple(bounds), attainment=contract.attainment, rule=contract.rule)


def is_ok(sample: RequestSample, slo: SloSpec) -> bool:
    """No failure, the length that was forced, and every bound kept; unmeasured is not kept."""
    if sample.failure is not None or (slo.forced_length and not has_length(sample)):
        return False
    values = ((bound, getattr(sample, bound.metric)) for bound in slo.bounds)
    return all(value is not None and bound.holds(value) for bound, value in values)


def has_length(sample: RequestSample) -> bool:
    """Whether the answer is as long as asked; true where nothing was asked, or not counted."""
    asked, got = sample.output_tokens_asked, sample.output_tokens
    if asked is None or got is None:
        return True
    return abs(got - asked) <= max(1.0, LENGTH_TOLERANCE * asked)


def attainment(samples: Sequence[RequestSample], slo: SloSpec) -> float | None:
    """Share of all measured requests, failures included, that are ok; None without requests.

    Raises:
        UpstreamError: no success has a metric that the SLO bounds (an answer that is not
            streamed has no TTFT); such a level neither passes nor fails.
    """
    if not samples:
        return None
    good = [s for s in samples if s.failure is None]
    for bound in slo.bounds:
        if good and all(getattr(s, bound.metric) is None for s in good):
            raise UpstreamError(
                f"{bound.metric} was measured in none of {len(good)} successful requests, so "
                f"{bound.metric}{'>=' if bound.at_least else '<='}{bound.value:g} cannot be judged"
            )
    return sum(is_ok(s, slo) for s in samples) / len(samples)


def passes(samples: Sequence[RequestSample], slo: SloSpec) -> bool | None:
    """Whether a level keeps its SLO, as measured and without regard to chance.

    Raises:
        UpstreamError: as `attainment`.
    """
    share = attainment(samples, slo)
    if share is None:
        return None
    errors = sum(s.failure is not None for s in samples) / len(samples)
    if slo.error_rate is not None and errors > slo.error_rate:
        return False
    if slo.rule is ContractRule.PER_REQUEST:
        return share >= slo.attainment
    good = [s for s in samples if s.failure is None]
    return (
        bool(good)
        and errors <= 1 - slo.attainment
        and all(_mean_holds(good, b) for b in slo.bounds)
    )


def _mean_holds(samples: Sequence[RequestSample], bound: Bound) -> bool:
    values = [v for v in (getattr(s, bound.metric) for s in samples) if v is not None]
    return bool(values) and bound.holds(sum(values) / len(values))
