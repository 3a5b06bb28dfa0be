"""The five questions, and those that nobody answered."""

import msgspec
import pytest

from proa.errors import FieldError
from proa.planner.promise.questions import QuestionsSpec, five_questions

ANSWERS = QuestionsSpec(
    sessions=24,
    context_tokens=8500,
    tokens_per_s=30,
    ttft_p95_s=2,
    allow_weights=("bf16", "fp8"),
    allow_kv=("bf16",),
)


def test_a_plan_answers_five_questions() -> None:
    told = five_questions(ANSWERS)
    assert [(asked.key, asked.answer.en) for asked in told] == [
        ("sessions", "24 sessions"),
        ("context", "8,500 tokens"),
        ("speed", "30 tokens/s for each user"),
        ("wait", "at most 2 s for 95 % of the requests"),
        ("quality", "weights bf16, fp8, KV cache bf16"),
    ]
    assert told[0].question.ko == "동시에 몇 명이 쓰는가"
    assert told[4].answer.ko == "가중치 bf16, fp8, KV 캐시 bf16"
    assert not any(asked.is_assumed for asked in told)


def test_answers_that_had_to_be_assumed_are_marked() -> None:
    spec = msgspec.structs.replace(ANSWERS, assumed={"ttft_p95_s", "allow_kv"})
    told = five_questions(spec)
    assert [asked.key for asked in told if asked.is_assumed] == ["wait", "quality"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sessions": 0}, "sessions"),
        ({"context_tokens": -8}, "context"),
        ({"tokens_per_s": 0}, "tokens_per_s"),
        ({"ttft_p95_s": 0}, "ttft_p95_s"),
        ({"allow_weights": ()}, "allow_weights"),
        ({"allow_kv": ("fp4",)}, "allow_kv"),
    ],
)
def test_an_answer_that_cannot_be_is_refused(changes: dict[str, object], field: str) -> None:
    with pytest.raises(FieldError) as refused:
        five_questions(msgspec.structs.replace(ANSWERS, **changes))
    assert refused.value.field == field
