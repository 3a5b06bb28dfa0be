"""Context from parts, and memory against context."""

import pytest

from proa.errors import FieldError
from proa.planner.demand.context import SWEEP, ContextSpec, context, sweep_context

# 48 layers, 8 KV heads, head dimension 128, FP16: 2 x 48 x 8 x 128 x 2.
TOKEN_BYTES = 196_608


def test_ten_chunks_of_a_thousand_tokens_make_most_of_a_rag_prompt() -> None:
    plan = context(
        ContextSpec(
            system_tokens=500,
            question_tokens=100,
            history_turns=3,
            tokens_per_turn=600,
            rag_chunks=10,
            tokens_per_chunk=1000,
            output_tokens=500,
        )
    )
    assert [(part.key, part.filled, part.tokens) for part in plan.parts] == [
        ("system", "500", 500),
        ("question", "100", 100),
        ("history", "3 × 600", 1800),
        ("rag", "10 × 1,000", 10_000),
        ("output", "500", 500),
    ]
    assert (plan.input_tokens, plan.output_tokens, plan.context_tokens) == (12_400, 500, 12_900)
    assert {part.name.ko for part in plan.parts} >= {"시스템 프롬프트", "검색 문서(RAG)"}


def test_parts_that_are_not_there_are_not_listed() -> None:
    plan = context(ContextSpec(rag_chunks=10, tokens_per_chunk=1000))
    assert [part.key for part in plan.parts] == ["rag"]
    assert plan.context_tokens == plan.input_tokens == 10_000


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (ContextSpec(question_tokens=-1), "question_tokens"),
        (ContextSpec(question_tokens=10, rag_chunks=-2, tokens_per_chunk=5), "rag_chunks"),
        (ContextSpec(question_tokens=10, rag_chunks=10), "tokens_per_chunk"),
        (ContextSpec(question_tokens=10, history_turns=2), "tokens_per_turn"),
        (ContextSpec(output_tokens=10), "question_tokens"),
    ],
)
def test_a_context_that_cannot_be_is_refused(spec: ContextSpec, field: str) -> None:
    with pytest.raises(FieldError) as refused:
        context(spec)
    assert refused.value.field == field


def test_memory_grows_with_the_context() -> None:
    rows = sweep_context(lambda t: t * TOKEN_BYTES, sessions=24, weights_bytes=60 * 10**9)
    assert [row.context_tokens for row in rows] == [8192, 16384, 32768, 65536, 131072]
    assert [row.kv_bytes / 2**30 for row in rows] == [36, 72, 144, 288, 576]
    assert [round(row.total_bytes / 1e9, 1) for row in rows[:3]] == [98.7, 137.3, 214.6]
    assert rows[0].kv_bytes_per_session == 8192 * TOKEN_BYTES
    assert SWEEP[-1] == 128 * 1024
