"""The clause: the golden case in both languages, and what stands in it when."""

from pathlib import Path

import msgspec
import pytest

from proa.domain.contract import ContractLimits, ContractRule, ContractSpec
from proa.errors import FieldError
from proa.planner.promise.clause import clause, suggested_limits

GOLDEN = Path(__file__).with_name("golden")
CONTRACT = ContractSpec(
    sessions=24,
    mean_input_tokens=8000,
    user_tokens_per_s=30,
    output_tokens=500,
    ttft_p95_s=2.0,
    model="qwen3-14b",
    weights="fp8",
    kv_dtype="fp8",
    extend_above=ContractLimits(sessions=40, mean_input_tokens=16000),
)
BARE = ContractSpec(sessions=24, mean_input_tokens=8000, user_tokens_per_s=30)


def changed(**changes: object) -> ContractSpec:
    return msgspec.structs.replace(CONTRACT, **changes)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_golden_case(language: str) -> None:
    golden = (GOLDEN / f"clause.{language}.txt").read_text(encoding="utf-8")
    assert getattr(clause(CONTRACT), language) == golden


@pytest.mark.parametrize("language", ["ko", "en"])
def test_both_languages_have_the_same_numbers_and_lines(language: str) -> None:
    plan = clause(CONTRACT)
    text = getattr(plan, language)
    for number in ("24", "8,000", "30", "16,000", "40", "500", "95", "qwen3-14b", "− 1"):
        assert number in text
    assert [line[:1] for line in plan.ko.splitlines()] == [
        line[:1] for line in plan.en.splitlines()
    ]


def test_what_is_not_promised_is_not_said() -> None:
    plan = clause(BARE)
    for word in ("TTFT", "qwen", "Configuration", "None"):
        assert word not in plan.en
    for word in ("TTFT", "대상 구성", "None", "답변 길이"):
        assert word not in plan.ko


def test_without_limits_every_load_beyond_the_promise_is_a_trigger() -> None:
    plan = clause(BARE)
    assert "more than 24 sessions run at once" in plan.en
    assert "the mean input per request exceeds 8,000 tokens" in plan.en
    assert "Between the load" not in plan.en
    assert "동시 세션이 24개를 넘는 경우" in plan.ko


def test_one_limit_alone_is_the_only_trigger() -> None:
    plan = clause(changed(extend_above=ContractLimits(sessions=40)))
    assert "(a) more than 40 sessions run at once" in plan.en
    assert "mean input per request exceeds" not in plan.en
    assert "Between the load" in plan.en


def test_the_mean_may_be_the_rule() -> None:
    plan = clause(changed(rule=ContractRule.MEAN))
    assert "mean over all requests" in plan.en
    assert "95 %" not in plan.en
    assert "전체 요청의 평균" in plan.ko


def test_braces_in_a_name_stay_as_they_are() -> None:
    assert "model {x} {0}" in clause(changed(model="{x} {0}")).en


def test_limits_are_suggested_where_none_are_agreed() -> None:
    assert suggested_limits(24, 8000) == CONTRACT.extend_above
    assert suggested_limits(1, 1) == ContractLimits(sessions=2, mean_input_tokens=2)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sessions": 0}, "sessions"),
        ({"mean_input_tokens": -1}, "mean_input_tokens"),
        ({"user_tokens_per_s": 0}, "user_tokens_per_s"),
        ({"ttft_p95_s": 0}, "ttft_p95_s"),
        ({"attainment": 1.5}, "attainment"),
        ({"output_tokens": 0}, "output_tokens"),
        ({"extend_above": ContractLimits(sessions=23)}, "extend_above.sessions"),
        (
            {"extend_above": ContractLimits(mean_input_tokens=7999)},
            "extend_above.mean_input_tokens",
        ),
    ],
)
def test_a_promise_that_cannot_be_is_refused(changes: dict[str, object], field: str) -> None:
    with pytest.raises(FieldError) as refused:
        clause(changed(**changes))
    assert refused.value.field == field
