"""The five questions that a plan answers, and which of the answers it had to assume."""

from collections.abc import Collection, Sequence

import msgspec

from proa.errors import FieldError
from proa.planner import bounds as b
from proa.planner.text import Text, written

WEIGHTS = ("bf16", "fp8", "int8", "int4", "nvfp4", "mxfp4")
KV_DTYPES = ("bf16", "fp16", "fp8", "int8", "nvfp4")


class QuestionsSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The answers as the plan uses them; `assumed` names those fields that nobody gave.

    Fields of `assumed` are those of this struct. `allow_…` are the precisions that quality
    allows, in order of preference.
    """

    sessions: int
    context_tokens: int
    tokens_per_s: float
    ttft_p95_s: float
    allow_weights: Sequence[str]
    allow_kv: Sequence[str]
    assumed: Collection[str] = ()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One of the five: `key` is `sessions`, `context`, `speed`, `wait` or `quality`."""

    key: str
    question: Text
    answer: Text
    is_assumed: bool


_QUESTIONS = {
    "sessions": Text("동시에 몇 명이 쓰는가", "how many at once"),
    "context": Text("컨텍스트는 얼마나 긴가", "how long a context"),
    "speed": Text("얼마나 빨라야 하는가", "how fast"),
    "wait": Text(
        "첫 토큰까지 얼마나 기다리는가(TTFT)", "how long to wait for the first token (TTFT)"
    ),
    "quality": Text("어떤 품질이 필요한가(허용 정밀도)", "which quality (allowed precisions)"),
}
_FIELDS = {
    "sessions": ("sessions",),
    "context": ("context_tokens",),
    "speed": ("tokens_per_s",),
    "wait": ("ttft_p95_s",),
    "quality": ("allow_weights", "allow_kv"),
}


def five_questions(spec: QuestionsSpec) -> tuple[Question, ...]:
    """The five, in order, each with its answer.

    Raises:
        FieldError: an answer is outside its range, or a precision is not known.
    """
    _check(spec)
    weights, cache = ", ".join(spec.allow_weights), ", ".join(spec.allow_kv)
    answers = {
        "sessions": Text(f"{written(spec.sessions)}세션", f"{written(spec.sessions)} sessions"),
        "context": Text(
            f"{written(spec.context_tokens)}토큰", f"{written(spec.context_tokens)} tokens"
        ),
        "speed": Text(
            f"사용자당 {written(spec.tokens_per_s)}토큰/초",
            f"{written(spec.tokens_per_s)} tokens/s for each user",
        ),
        "wait": Text(
            f"요청의 95 %에서 {written(spec.ttft_p95_s)}초 이내",
            f"at most {written(spec.ttft_p95_s)} s for 95 % of the requests",
        ),
        "quality": Text(
            f"가중치 {weights}, KV 캐시 {cache}", f"weights {weights}, KV cache {cache}"
        ),
    }
    return tuple(
        Question(
            key=key,
            question=_QUESTIONS[key],
            answer=answer,
            is_assumed=any(field in spec.assumed for field in _FIELDS[key]),
        )
        for key, answer in answers.items()
    )


def _check(spec: QuestionsSpec) -> None:
    b.checked("sessions", spec.sessions, b.COUNT)
    b.checked("context", spec.context_tokens, b.COUNT)
    b.checked("tokens_per_s", spec.tokens_per_s, b.POSITIVE)
    b.checked("ttft_p95_s", spec.ttft_p95_s, b.POSITIVE)
    for field, given, known in (
        ("allow_weights", spec.allow_weights, WEIGHTS),
        ("allow_kv", spec.allow_kv, KV_DTYPES),
    ):
        if not given or not set(given) <= set(known):
            raise FieldError(field, list(given), f"one or more of {', '.join(known)}")
