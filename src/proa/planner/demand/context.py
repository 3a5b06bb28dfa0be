"""How long one request is, from its parts, and how memory grows with it."""

from collections.abc import Callable

import msgspec

from proa.errors import FieldError
from proa.planner import bounds as b
from proa.planner.text import Text, written

SWEEP = (8192, 16384, 32768, 65536, 131072)
"""8K to 128K, K = 1,024."""


class ContextSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of one request, in tokens; a turn is a question and its answer together."""

    system_tokens: int = 0
    question_tokens: int = 0
    history_turns: int = 0
    tokens_per_turn: int = 0
    rag_chunks: int = 0
    tokens_per_chunk: int = 0
    output_tokens: int = 0


class ContextPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part; `filled` shows a product (`10 × 1,000`)."""

    key: str
    name: Text
    filled: str
    tokens: int


class ContextPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that are there, and their sums: context = input + output."""

    parts: tuple[ContextPart, ...]
    input_tokens: int
    output_tokens: int
    context_tokens: int


class ContextRow(msgspec.Struct, frozen=True, kw_only=True):
    """Memory at one context; bytes."""

    context_tokens: int
    kv_bytes_per_session: int
    kv_bytes: int
    total_bytes: int


_NAMES = {
    "system": Text("시스템 프롬프트", "system prompt"),
    "question": Text("질문", "question"),
    "history": Text("이전 대화", "history"),
    "rag": Text("검색 문서(RAG)", "retrieved passages (RAG)"),
    "output": Text("출력", "output"),
}


def context(spec: ContextSpec) -> ContextPlan:
    """input = system + question + turns x tokens per turn + chunks x tokens per chunk.

    Raises:
        FieldError: a part is negative or not whole, turns or chunks have no length, or nothing
            at all is asked.
    """
    for field in spec.__struct_fields__:
        b.checked(field, getattr(spec, field), b.COUNT_OR_ZERO)
    for count, each in (("history_turns", "tokens_per_turn"), ("rag_chunks", "tokens_per_chunk")):
        if getattr(spec, count) and not getattr(spec, each):
            raise FieldError(each, 0, f"a whole number from 1 beside {count}")
    factors = {
        "system": (spec.system_tokens,),
        "question": (spec.question_tokens,),
        "history": (spec.history_turns, spec.tokens_per_turn),
        "rag": (spec.rag_chunks, spec.tokens_per_chunk),
        "output": (spec.output_tokens,),
    }
    parts = tuple(part for part in (_part(key, *f) for key, f in factors.items()) if part.tokens)
    inputs = sum(part.tokens for part in parts if part.key != "output")
    if not inputs:
        raise FieldError("question_tokens", spec.question_tokens, "some input in one of the parts")
    return ContextPlan(
        parts=parts,
        input_tokens=inputs,
        output_tokens=spec.output_tokens,
        context_tokens=inputs + spec.output_tokens,
    )


def sweep_context(
    kv_bytes_per_session: Callable[[int], int],
    *,
    sessions: int,
    weights_bytes: int,
    contexts: tuple[int, ...] = SWEEP,
) -> tuple[ContextRow, ...]:
    """Memory of the weights and of so many sessions, each of them full, at each context."""
    rows = []
    for tokens in contexts:
        each = kv_bytes_per_session(tokens)
        kv_bytes = each * sessions
        rows.append(
            ContextRow(
                context_tokens=tokens,
                kv_bytes_per_session=each,
                kv_bytes=kv_bytes,
                total_bytes=weights_bytes + kv_bytes,
            )
        )
    return tuple(rows)


def _part(key: str, first: int, each: int | None = None) -> ContextPart:
    filled = written(first) if each is None else f"{written(first)} × {written(each)}"
    tokens = first if each is None else first * each
    return ContextPart(key=key, name=_NAMES[key], filled=filled, tokens=tokens)
