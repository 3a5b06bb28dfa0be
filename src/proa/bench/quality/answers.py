"""One question to one endpoint: temperature 0, no stream, log probabilities where they are told."""

from typing import Any

import msgspec

from proa.bench.answer import read_answer
from proa.bench.ask import post, whole_answer
from proa.bench.decode import VisitLabel, sample_of
from proa.bench.quality.cases import QualityCase
from proa.bench.quality.checks import is_right, visible
from proa.bench.raw import RawExchange
from proa.bench.sample import Failure
from proa.bench.target import TargetSpec
from proa.bench.workloads import texts_of
from proa.errors import UpstreamError

_REFUSED = (400, 422, 501)


class QualityAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`right` is None without a check, or where it failed; `text` is without thoughts.

    `tokens` and `logprobs` are those of the answer, empty where the engine tells none.
    """

    case: str
    side: str
    text: str = ""
    right: bool | None = None
    failure: Failure | None = None
    failure_text: str = ""
    finish_reason: str | None = None
    output_tokens: int | None = None
    tokens: list[str] = []
    logprobs: list[float] = []


class _Token(msgspec.Struct):
    token: str = ""
    logprob: float | None = None


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None


class _Choice(msgspec.Struct):
    logprobs: _Logprobs | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] = []


def question_body(target: TargetSpec, case: QualityCase, *, logprobs: bool) -> bytes:
    """The request; `extra` of the target goes last and may replace a field."""
    fields: dict[str, Any] = {"model": target.model}
    if target.is_chat:
        fields |= {"messages": case.messages}
    else:
        fields |= {"prompt": texts_of(case.messages)}
    fields |= {"max_tokens": case.max_tokens, "temperature": 0, "seed": 0}
    if logprobs:
        fields["logprobs"] = True if target.is_chat else 1
    return msgspec.json.encode(fields | target.extra)


async def ask(
    target: TargetSpec, case: QualityCase, *, logprobs: bool, timeout_s: float
) -> QualityAnswer:
    """The answer, or why there is none. Raises UpstreamError: no connection."""
    body = question_body(target, case, logprobs=logprobs)
    try:
        raw = await post(target, body, timeout_s=timeout_s)
    except OSError as error:
        raise UpstreamError(f"{target.name}: {str(error) or type(error).__name__}") from None
    return answer_of(raw, case, side=target.name)


def answer_of(raw: RawExchange, case: QualityCase, *, side: str) -> QualityAnswer:
    """Read an exchange; an empty answer is a wrong one and no failure."""
    answer = read_answer(raw)
    sample = sample_of(raw, answer, VisitLabel(0), target=side, origin_s=0.0)
    failure = None if sample.failure is Failure.EMPTY else sample.failure
    text = "".join(answer.text)
    tokens, logprobs = _told(raw) if failure is None else ([], [])
    return QualityAnswer(
        case=case.id,
        side=side,
        text=visible(text),
        right=is_right(case.check, text) if failure is None else None,
        failure=failure,
        failure_text=sample.failure_text if failure else "",
        finish_reason=answer.finish_reason,
        output_tokens=sample.output_tokens,
        tokens=tokens,
        logprobs=logprobs,
    )


async def takes_logprobs(target: TargetSpec, case: QualityCase, *, timeout_s: float) -> bool:
    """Whether the endpoint does not refuse to tell log probabilities."""
    probe = msgspec.structs.replace(case, max_tokens=1)
    body = question_body(target, probe, logprobs=True)
    try:
        raw = await post(target, body, timeout_s=timeout_s)
    except OSError as error:
        raise UpstreamError(f"{target.name}: {str(error) or type(error).__name__}") from None
    return read_answer(raw).status not in _REFUSED


def _told(raw: RawExchange) -> tuple[list[str], list[float]]:
    """Tokens with their log probabilities, in both APIs' forms; none where one is missing."""
    try:
        choices = msgspec.json.decode(whole_answer(raw, "answer")[1], type=_Body).choices
    except (OSError, msgspec.MsgspecError):
        return [], []
    told = choices[0].logprobs if choices else None
    if told is None:
        return [], []
    if told.content is not None:
        pairs = [(one.token, one.logprob) for one in told.content]
    else:
        pairs = list(zip(told.tokens or [], told.token_logprobs or [], strict=False))
    known = [(token, value) for token, value in pairs if value is not None]
    if len(known) != len(pairs):
        return [], []
    return [token for token, _ in known], [value for _, value in known]
