"""What counts as evidence: failures stay in, warm-up stays out, what is missing is an error."""

import msgspec
import pytest

from proa.bench.sample import Failure, RequestSample
from proa.bench.slo import parse_slo
from proa.bench.statistics.margins import evidence_of, question_of
from proa.domain.contract import ContractRule
from proa.errors import UpstreamError

SLO = parse_slo("user_tokens_per_s>=30,ttft_s<=2")


def request(number: int, *, speed: float = 40.0, ttft_s: float = 0.5) -> RequestSample:
    first = number + ttft_s
    return RequestSample(
        number=number, target="t", level=0, user=number, users=4, sent_s=float(number),
        first_content_s=first, last_content_s=first + 100 / speed, end_s=first + 100 / speed,
        output_tokens=101,
    )  # fmt: skip


def refused(number: int) -> RequestSample:
    return RequestSample(
        number=number, target="t", level=0, user=number, sent_s=float(number), status=429,
        failure=Failure.STATUS,
    )  # fmt: skip


def test_a_request_is_ok_only_if_it_keeps_all_bounds() -> None:
    samples = [request(n) for n in range(18)]
    samples += [request(18, speed=25.0), request(19, ttft_s=3.0)]
    found = evidence_of(samples, SLO, load=4, seconds=60)
    assert (found.requests, found.seconds) == (20, 60)
    assert found.mean == pytest.approx(0.9)
    assert question_of(SLO).threshold == 0.95


def test_b49_ten_failures_of_a_hundred_are_ten_percent() -> None:
    """B49; and a server that refuses does not pass by being quick with the rest (B47)."""
    samples = [request(n) for n in range(90)] + [refused(n) for n in range(90, 100)]
    found = evidence_of(samples, SLO, load=4)
    assert found.requests == 100
    assert found.mean == pytest.approx(0.9)


def test_a_tighter_error_rate_judges_by_its_own_allowance() -> None:
    strict = parse_slo("user_tokens_per_s>=30,error_rate<=1%")
    samples = [request(n) for n in range(98)] + [refused(98), refused(99)]
    found = evidence_of(samples, strict, load=4)
    assert found.mean == pytest.approx(0.9)
    assert found.requests * (1 - found.mean) == pytest.approx(2)
    none = evidence_of([request(n) for n in range(100)], strict, load=4)
    assert (none.requests, none.mean) == (100, 1.0)


def test_warm_up_fillers_and_what_was_stopped_do_not_count() -> None:
    out = [
        msgspec.structs.replace(request(n, speed=1.0), **{field: True})
        for n, field in enumerate(("is_warmup", "is_filler", "is_stopped"))
    ]
    found = evidence_of([*out, *(request(n) for n in range(3, 23))], SLO, load=4)
    assert (found.requests, found.mean) == (20, 1.0)


def test_an_unsteady_begin_is_cut() -> None:
    samples = [request(n, speed=10 + n % 2) for n in range(15)]
    samples += [request(n, speed=40 + n % 3) for n in range(15, 75)]
    found = evidence_of(samples, SLO, load=4)
    assert (found.requests, found.mean) == (60, 1.0)


def test_b51_a_metric_that_nobody_measured_is_an_error_and_no_verdict() -> None:
    """B51."""
    whole = [msgspec.structs.replace(request(n), first_content_s=None) for n in range(20)]
    with pytest.raises(UpstreamError, match="cannot be judged"):
        evidence_of(whole, SLO, load=4)


def test_the_mean_rule_takes_the_bound_that_is_kept_least_surely() -> None:
    mean = parse_slo("user_tokens_per_s>=30,ttft_s<=2", rule=ContractRule.MEAN)
    samples = [request(n, speed=33 + n % 3, ttft_s=0.5) for n in range(30)]
    found = evidence_of(samples, mean, load=4)
    assert question_of(mean).of_mean
    assert found.mean == pytest.approx(34 / 30 - 1, abs=0.01)
    late = [request(n, speed=60, ttft_s=2.2 + 0.1 * (n % 3)) for n in range(30)]
    assert evidence_of(late, mean, load=4).mean == pytest.approx(-0.15, abs=0.01)
    broken = [request(n) for n in range(15)] + [refused(n) for n in range(15, 30)]
    assert evidence_of(broken, mean, load=4).mean == pytest.approx(0.05 - 0.5)
    assert evidence_of([refused(n) for n in range(9)], mean, load=4).mean < 0
