"""A raw exchange and its answer become the sample that a run keeps."""

import msgspec

from proa.bench.answer import Answer, read_answer
from proa.bench.raw import RawEnd, RawExchange
from proa.bench.sample import Failure, RequestSample, TokenSource

_FEW_CHARACTERS = 0.9
"""Characters a token of visible text has at least, on average: below it, tokens were hidden,
unless its events are single letters, of which a tokenizer by bytes makes several tokens."""


class VisitLabel(msgspec.Struct, frozen=True):
    """Where the samples of one visit belong: its number in the run, and what was asked."""

    level: int
    users: int | None = None
    rate: float | None = None


def decoded(
    raw: RawExchange, label: VisitLabel, targets: tuple[str, ...], *, origin_s: float
) -> RequestSample:
    """The sample of one exchange; `origin_s` is the run's zero on the monotonic clock."""
    answer = read_answer(raw)
    return sample_of(raw, answer, label, target=targets[raw.asked.target], origin_s=origin_s)


def sample_of(
    raw: RawExchange, answer: Answer, label: VisitLabel, *, target: str, origin_s: float
) -> RequestSample:
    """As `decoded`, of an answer that was read already."""
    failure, text = _failure(raw, answer)
    usage, asked = answer.usage, raw.asked
    tokens = None if usage is None else usage.completion_tokens
    source = TokenSource.USAGE
    if tokens is None and answer.is_stream and answer.events:
        tokens, source = len(answer.events), TokenSource.EVENTS
    hidden, first_tokens = _first_tokens(answer, tokens, source)

    def since(at_s: float | None) -> float | None:
        return None if at_s is None else at_s - origin_s

    events = tuple(msgspec.structs.replace(e, at_s=e.at_s - origin_s) for e in answer.events)
    return RequestSample(
        number=asked.number,
        target=target,
        level=label.level,
        user=asked.user,
        users=label.users,
        rate=label.rate,
        prompt=asked.prompt,
        input_tokens_asked=asked.input_tokens,
        output_tokens_asked=asked.output_tokens,
        scheduled_s=since(asked.scheduled_s),
        sent_s=raw.sent_s - origin_s,
        wired_s=since(raw.wired_s),
        first_byte_s=since(raw.times[0] if raw.times else None),
        first_content_s=events[0].at_s if events else None,
        first_visible_s=since(answer.visible_s),
        last_content_s=events[-1].at_s if events else None,
        end_s=since(raw.ended_s) if raw.times and raw.end is not RawEnd.STOPPED else None,
        is_stopped=raw.end is RawEnd.STOPPED,
        status=answer.status,
        failure=failure,
        failure_text=text,
        finish_reason=answer.finish_reason,
        input_tokens=None if usage is None else usage.prompt_tokens,
        cached_tokens=None if usage is None else usage.cached_tokens,
        reasoning_tokens=None if usage is None else usage.reasoning_tokens,
        output_tokens=tokens,
        token_source=None if tokens is None else source,
        first_tokens=first_tokens,
        hidden_reasoning=hidden,
        reads=len({event.read for event in events}),
        events=events,
    )


def _failure(raw: RawExchange, answer: Answer) -> tuple[Failure | None, str]:
    if raw.end is RawEnd.STOPPED:
        return None, ""
    if raw.end is RawEnd.TIMEOUT:
        return Failure.TIMEOUT, raw.text
    if not raw.times:
        return Failure.CONNECT, raw.text or "the connection ended before any answer"
    if answer.status is not None and answer.status >= 400:
        return Failure.STATUS, f"{answer.status} {answer.error or ''}".strip()
    if answer.error is not None:
        return Failure.ERROR_EVENT, answer.error
    if answer.malformed is not None or raw.end is RawEnd.MALFORMED:
        return Failure.MALFORMED, answer.malformed or raw.text
    return _unfinished(answer)


def _unfinished(answer: Answer) -> tuple[Failure | None, str]:
    if not answer.is_whole:
        return Failure.CUT, "the connection ended within the answer"
    if answer.is_stream and not answer.is_done and answer.finish_reason is None:
        return Failure.CUT, "neither [DONE] nor a finish reason"
    counted = answer.usage is not None and bool(answer.usage.completion_tokens)
    if not answer.events and not answer.visible_events and not counted:
        return Failure.EMPTY, "no generated content"
    return None, ""


def _first_tokens(
    answer: Answer, tokens: int | None, source: TokenSource
) -> tuple[bool, int | None]:
    """Whether tokens were generated unseen, and how many came up to the first content event.

    A running count tells it. Else characters do: tokens x characters of the first event / all.
    Where tokens were hidden, those of the later events are taken as one each, and all others
    as generated before the first.
    """
    events = answer.events
    if not events or tokens is None or source is TokenSource.EVENTS:
        return False, 1 if events else None
    characters = sum(event.characters for event in events)
    reasoned = 0 if answer.usage is None else answer.usage.reasoning_tokens or 0
    silent = len(events) == answer.visible_events  # no reasoning was shown
    too_many = 2 * len(events) <= characters < _FEW_CHARACTERS * tokens
    hidden = silent and (reasoned > 0 or too_many)
    if answer.first_tokens is not None:
        return hidden, answer.first_tokens
    if hidden and (reasoned == 0 or tokens - reasoned <= len(events)):
        return True, tokens - (len(events) - 1)
    seen = tokens - reasoned if hidden else tokens
    if seen <= len(events) + 1:
        first = 1
    else:
        first = max(1, round(seen * events[0].characters / characters))
    return hidden, first + tokens - seen
