"""Evidence from requests as they were measured."""

import math
from collections.abc import Iterator, Sequence

from proa.bench.sample import RequestSample
from proa.bench.slo import Bound, SloSpec, attainment, is_ok
from proa.bench.statistics.effective import batch_variance, design_effect
from proa.bench.statistics.evidence import Evidence, Question
from proa.bench.statistics.warm_up import steady_from
from proa.domain.contract import ContractRule

_LEAST_ALLOWED = 0.001


def question_of(slo: SloSpec) -> Question:
    """What `slo` asks of a level."""
    if slo.rule is ContractRule.MEAN:
        return Question(0.0, of_mean=True)
    return Question(min(slo.attainment, 1 - _LEAST_ALLOWED))


def evidence_of(
    samples: Sequence[RequestSample], slo: SloSpec, *, load: float, seconds: float = 0.0
) -> Evidence:
    """What one visit says; `samples` may hold warm-up and fillers, which do not count.

    In the order of their sending, without those that MSER-5 finds unsteady by TPOT. In an open
    loop, `load` is a rate, and how many are in flight together is by Little's law.

    Raises:
        UpstreamError: no success has a metric that the SLO bounds.
    """
    measured = [s for s in samples if not (s.is_warmup or s.is_filler or s.is_stopped)]
    steady = _steady(sorted(measured, key=lambda sample: sample.sent_s))
    attainment(steady, slo)
    if slo.rule is ContractRule.MEAN:
        return _mean_evidence(steady, slo, load, seconds)
    return _share_evidence(steady, slo, load, seconds)


def _steady(samples: list[RequestSample]) -> list[RequestSample]:
    timed = [(n, s.tpot_s) for n, s in enumerate(samples) if s.failure is None]
    known = [(number, tpot_s) for number, tpot_s in timed if tpot_s is not None]
    cut = steady_from([tpot_s for _, tpot_s in known])
    return samples[known[cut][0] :] if cut else samples


def _share_evidence(
    samples: Sequence[RequestSample], slo: SloSpec, load: float, seconds: float
) -> Evidence:
    """Of the requests that are ok, or of those without a failure where that is tighter.

    Failures over their allowance stand in for requests not ok over theirs, so that one
    threshold judges both: the count is scaled by the ratio of the two allowances.
    """
    count = len(samples)
    kept = [float(is_ok(sample, slo)) for sample in samples]
    batches = batch_variance(kept, in_flight(samples, load))
    allowed = 1 - question_of(slo).threshold
    bad = count - sum(kept)
    if slo.error_rate is not None:
        failed = sum(sample.failure is not None for sample in samples)
        rate = max(slo.error_rate, _LEAST_ALLOWED)
        if failed / rate > bad / allowed:
            scaled = count * rate / allowed
            mean = max(0.0, 1 - failed / scaled)
            return Evidence(load=load, requests=scaled, mean=mean, seconds=seconds)
    mean = 1 - bad / count if count else 0.0
    return Evidence(load=load, requests=count, mean=mean, batches=batches, seconds=seconds)


def in_flight(samples: Sequence[RequestSample], load: float) -> int:
    """Requests at one time: the users, or rate x mean time of an answer."""
    if not samples or samples[0].rate is None:
        return round(load)
    times_s = [s.e2e_s for s in samples if s.e2e_s is not None]
    return math.ceil(load * math.fsum(times_s) / len(times_s)) if times_s else 1


def _mean_evidence(
    samples: Sequence[RequestSample], slo: SloSpec, load: float, seconds: float
) -> Evidence:
    """Of the bound that is kept least surely; margins are shares of the bound."""
    together = in_flight(samples, load)
    found = [_of_margins(m, load, seconds, together) for m in _margins(samples, slo)]
    return min(found, key=_sureness)


def _margins(samples: Sequence[RequestSample], slo: SloSpec) -> Iterator[list[float]]:
    allowed = 1 - slo.attainment if slo.error_rate is None else slo.error_rate
    yield [allowed - (sample.failure is not None) for sample in samples]
    for bound in slo.bounds:
        values = [getattr(sample, bound.metric) for sample in samples if sample.failure is None]
        yield [_margin(value, bound) for value in values if value is not None]


def _margin(value: float, bound: Bound) -> float:
    apart = value - bound.value if bound.at_least else bound.value - value
    return apart / bound.value if bound.value else apart


def _of_margins(margins: list[float], load: float, seconds: float, together: int) -> Evidence:
    count = len(margins)
    mean = math.fsum(margins) / count if count else 0.0
    spread = math.fsum((one - mean) ** 2 for one in margins) / max(count - 1, 1)
    return Evidence(
        load=load, requests=count, mean=mean, deviation=math.sqrt(spread),
        batches=batch_variance(margins, together), seconds=seconds,
    )  # fmt: skip


def _sureness(one: Evidence) -> float:
    """Mean in standard errors; without any request nothing is sure."""
    if not one.requests or one.deviation is None:
        return math.inf
    error = max(one.deviation, 1e-3) * math.sqrt(design_effect([one.batches]) / one.requests)
    return one.mean / error
