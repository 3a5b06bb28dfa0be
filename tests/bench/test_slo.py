"""A level keeps its SLO, fails it, or cannot be judged: three different things."""

import pytest

from proa.bench.sample import Failure, RequestSample
from proa.bench.slo import attainment, contract_slo, has_length, is_ok, parse_slo, passes
from proa.domain.contract import ContractRule, ContractSpec
from proa.errors import FieldError, UpstreamError


def sample(
    ttft_s: float | None = 1.0, tpot_s: float = 0.02, *, failure: Failure | None = None,
    tokens: int = 101,
) -> RequestSample:  # fmt: skip
    last_s = None if ttft_s is None else ttft_s + tpot_s * (tokens - 1)
    return RequestSample(
        number=0, target="t", level=0, user=0, sent_s=0.0, first_content_s=ttft_s,
        last_content_s=last_s, end_s=last_s or 5.0, output_tokens=tokens,
        output_tokens_asked=101, failure=failure,
    )  # fmt: skip


def test_both_bounds_must_hold() -> None:
    slo = parse_slo("user_tokens_per_s>=30, ttft_s<=2")
    assert is_ok(sample(), slo)
    assert not is_ok(sample(ttft_s=2.5), slo)
    assert not is_ok(sample(tpot_s=0.04), slo)


def test_b47_refusals_fail_a_level_however_quick_the_rest_is() -> None:
    """B47: InferenceX #357: 429 above 24 users must not score better than slow answers."""
    served = [sample() for _ in range(75)]
    refused = [sample(None, failure=Failure.STATUS) for _ in range(25)]
    slo = parse_slo("ttft_s<=2")
    assert attainment(served + refused, slo) == 0.75
    assert passes(served + refused, slo) is False
    assert passes(served, slo) is True
    mean = parse_slo("ttft_s<=2", rule=ContractRule.MEAN)
    assert passes(served + refused, mean) is False


def test_b49_failures_are_a_share_of_all_requests() -> None:
    """B49: fw-ai/benchmark #136: 10 of 100 are 10 %."""
    mixed = [sample() for _ in range(90)] + [sample(failure=Failure.CUT) for _ in range(10)]
    assert passes(mixed, parse_slo("error_rate<=10%", attainment=0.9)) is True
    assert passes(mixed, parse_slo("error_rate<=0.09", attainment=0.9)) is False


@pytest.mark.parametrize("text", ["error_rate<=5", "ttft_s<=2%", "ttft_ms<=2", "ttft_s<2", "", "x"])
def test_b51_units_and_names_are_checked(text: str) -> None:
    """B51: aiperf #1154: a fraction was read as percent."""
    with pytest.raises(FieldError, match="slo"):
        parse_slo(text)


def test_b51_a_metric_that_nobody_measured_is_an_error_and_no_verdict() -> None:
    """B51: a p99 that did not exist made every level fail."""
    unstreamed = [sample(ttft_s=None) for _ in range(20)]
    with pytest.raises(UpstreamError, match="ttft_s was measured in none of 20"):
        passes(unstreamed, parse_slo("ttft_s<=2"))
    assert passes([], parse_slo("ttft_s<=2")) is None
    assert passes([sample() for _ in range(60)], parse_slo("error_rate<=0.05")) is True


def test_b60_an_answer_of_another_length_is_not_ok() -> None:
    """B60: aiperf #339: min_tokens did not reach the server."""
    assert has_length(sample(tokens=97))
    assert not has_length(sample(tokens=30))
    assert not is_ok(sample(tokens=30), parse_slo("ttft_s<=2"))


def test_a_contract_is_an_slo() -> None:
    promised = ContractSpec(
        sessions=24, mean_input_tokens=8000, user_tokens_per_s=30, ttft_p95_s=2.0
    )
    slo = contract_slo(promised)
    assert is_ok(sample(), slo)
    assert not is_ok(sample(ttft_s=2.1), slo)
