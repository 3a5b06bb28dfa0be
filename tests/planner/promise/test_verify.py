"""The run that would confirm a plan: levels around the promise, and its limits."""

import shlex

from hypothesis import given, settings
from hypothesis import strategies as st

from proa.domain.contract import ContractLimits, ContractSpec
from proa.planner.promise.verify import verify_command, verify_levels, verify_slo

CONTRACT = ContractSpec(
    sessions=24,
    mean_input_tokens=8000,
    user_tokens_per_s=30,
    output_tokens=500,
    ttft_p95_s=2.0,
    model="Qwen/Qwen3-14B",
    extend_above=ContractLimits(sessions=40),
)


def test_the_command_is_whole() -> None:
    assert shlex.split(verify_command(CONTRACT, "http://10.0.0.10:30000")) == [
        "proa", "bench", "run", "http://10.0.0.10:30000", "--model", "Qwen/Qwen3-14B",
        "--levels", "12,18,24,30,40", "--input-tokens", "8000", "--output-tokens", "500",
        "--slo", "user_tokens_per_s>=30,ttft_s<=2",
    ]  # fmt: skip


def test_what_is_not_promised_is_not_asked_for() -> None:
    bare = ContractSpec(sessions=1, mean_input_tokens=100, user_tokens_per_s=12.5)
    assert verify_slo(bare) == "user_tokens_per_s>=12.5"
    assert "--output-tokens" not in verify_command(bare)
    assert "--model" not in verify_command(bare)


@given(sessions=st.integers(1, 10**6))
@settings(max_examples=30)
def test_the_promised_level_is_measured_and_levels_rise(sessions: int) -> None:
    levels = verify_levels(
        ContractSpec(sessions=sessions, mean_input_tokens=1, user_tokens_per_s=1)
    )
    assert sessions in levels
    assert list(levels) == sorted(set(levels))
    assert levels[0] >= 1
    assert levels[-1] > sessions
