"""How far samples are from the server's log."""

import pytest
from benchmarks.bench_clock.truth import bias, truth_stats

from proa.bench.paced_server import Truth
from proa.bench.sample import RequestSample

TRUTHS = [Truth(f"p{n}", 10.0 + n, 10.5 + n, 11.5 + n, 11) for n in range(4)]


def sample(number: int, *, late_s: float, tokens: int = 11) -> RequestSample:
    return RequestSample(
        number=number, target="t", level=0, user=0, prompt=f"p{number}", sent_s=5.0 + number,
        first_content_s=5.5 + number + late_s, last_content_s=6.5 + number + late_s,
        output_tokens=tokens,
    )  # fmt: skip


def test_the_log_has_its_own_numbers() -> None:
    told = truth_stats(TRUTHS)
    assert (told.requests, told.ttft_mean_s) == (4, 0.5)
    assert told.tpot_mean_s == pytest.approx(0.1)
    assert told.tokens_per_s == pytest.approx(44 / 4.0)


def test_late_stamps_are_bias_and_other_prompts_are_not_compared() -> None:
    samples = [sample(n, late_s=0.001 * n) for n in range(6)]
    told = bias(samples, {truth.prompt: truth for truth in TRUTHS}, origin_s=5.0)
    assert told.requests == 4
    assert told.ttft_p99_s == pytest.approx(0.003)
    assert told.stamp_p99_s == pytest.approx(0.003)
    assert told.tpot_mean == pytest.approx(0.0, abs=1e-9)
