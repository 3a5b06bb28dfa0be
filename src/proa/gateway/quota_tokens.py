"""Tokens of one request as its tenant's quotas count them: before, and when it has ended."""

from typing import TYPE_CHECKING

import msgspec

from proa.domain.lengths import UNLIMITED
from proa.domain.outcome import Outcome
from proa.routing.quota.used import Held
from proa.wire.surface import Api

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

_FIRST_GUESS = 1024.0
_FALL = 1 / 64
_EVENT_BYTES = 200  # of a token's event in a stream, as vLLM and llama.cpp send it
_TOKEN_BYTES = 4
_UNKNOWN_APIS = (Api.OTHER, Api.TRITON)
_MOST_ANSWERS = 128
_WORKED = (Outcome.OK, Outcome.CANCELLED)


class OutputGuess:
    """How long an answer without a limit may get: as long as a long one of late.

    It rises at once to the longest and falls by a 64th of the difference with each shorter one.
    """

    __slots__ = ("_tokens",)

    def __init__(self) -> None:
        self._tokens = _FIRST_GUESS

    @property
    def tokens(self) -> int:
        return int(self._tokens)

    def learn(self, tokens: int) -> None:
        """An answer without a limit had so many."""
        before = self._tokens
        self._tokens = float(tokens) if tokens > before else before + (tokens - before) * _FALL


class _Options(msgspec.Struct):
    num_predict: int | None = None


class _Shape(msgspec.Struct):
    """What multiplies or limits an answer beside its `max_tokens`."""

    n: int | None = None
    options: _Options | None = None


_shape = msgspec.json.Decoder(_Shape).decode


def wanted(exchange: "Exchange", guess: OutputGuess) -> Held:
    """The estimate of its input, and as much output as it may have."""
    asked, body = exchange.asked, exchange.body
    assert asked is not None
    tokens = exchange.plane.tokens.estimate(asked, body) or 0
    if not _generates(exchange):
        return Held(tokens, 0)
    limit, answers = _limit(exchange)
    return Held(tokens, (guess.tokens if limit is None else limit) * answers)


def used_by(exchange: "Exchange", held: Held, outcome: Outcome) -> Held:
    """What an ended request has used: what its engine told, else what went through here.

    Input that is not told is as estimated, output as much as was sent to the client. A
    request that no engine worked on has used nothing.
    """
    attempt = exchange.attempt
    if attempt is None or not attempt.body_sent:
        return Held()
    usage = attempt.usage
    worked = outcome in _WORKED or (outcome is Outcome.BROKEN and exchange.ttft_s is not None)
    if not worked and usage.prompt_tokens is None:
        return Held()
    told_input, told_output = usage.prompt_tokens, usage.completion_tokens
    used = Held(
        held.input if told_input is None else told_input,
        _sent(exchange) if told_output is None else told_output,
    )
    if outcome is Outcome.OK and _generates(exchange) and _limit(exchange)[0] is None:
        key = exchange.key
        assert key is not None
        assert key.meter is not None
        key.meter.guess.learn(used.output)
    return used


def _sent(exchange: "Exchange") -> int:
    """Output tokens that went to the client: of a stream its events, each a token."""
    attempt = exchange.attempt
    if attempt is None or not _generates(exchange):
        return 0
    pace, size = attempt.lease.pace, exchange.sent_bytes
    if pace is None:
        return size // _TOKEN_BYTES
    return max(pace.events, size // _EVENT_BYTES)


def _generates(exchange: "Exchange") -> bool:
    """Whether an answer is made of tokens, as far as the path tells."""
    surface = exchange.surface
    if surface.api in _UNKNOWN_APIS:
        return True
    return bool(surface.end_marks) and b"embed" not in exchange.head.path


def _limit(exchange: "Exchange") -> tuple[int | None, int]:
    """The client's limit on one answer, and how many answers it wants."""
    asked = exchange.asked
    assert asked is not None
    try:
        shape = _shape(exchange.body)
    except msgspec.MsgspecError:
        return asked.max_tokens, 1
    limit = asked.max_tokens
    if limit is None and shape.options is not None:
        limit = shape.options.num_predict
        limit = min(limit, UNLIMITED) if limit is not None and limit > 0 else None
    return limit, min(max(shape.n or 1, 1), _MOST_ANSWERS)
