"""An answer in one piece on its way to the client through the guard: held until it is whole."""

from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.wire.response_parser import ResponseParser
from proa.wire.usage import note_answer

if TYPE_CHECKING:
    from proa.gateway.attempt import Attempt

ANSWER_MAX_BYTES = 67_108_864
_COUNT_EVERY = 64
_TEXTS = (b"application/json", b"application/problem+json", b"text/")


def is_held(content_type: bytes) -> bool:
    """Whether an answer of this type has texts; sound, images and the like pass as they come."""
    return not content_type or content_type.startswith(_TEXTS) or b"json" in content_type


def hold(attempt: "Attempt", parser: ResponseParser) -> None:
    """Collect the answer; one above 64 MiB is broken off, as nothing of it may pass unread."""
    pieces, exchange = parser.pieces, attempt.exchange
    if not parser.complete:
        if len(pieces) % _COUNT_EVERY == 0 and sum(map(len, pieces)) > ANSWER_MAX_BYTES:
            attempt.malformed("an answer too large for the guard to hold")
        return
    body = b"".join(pieces)
    pieces.clear()
    if len(body) > ANSWER_MAX_BYTES:
        attempt.malformed("an answer too large for the guard to hold")
        return
    outcome = Outcome.OK if parser.status < 400 else Outcome.CLIENT_FAULT
    if outcome is Outcome.OK:
        note_answer(attempt.usage, body)
    attempt._finish(parser, outcome)
    exchange.answer_held(parser, body, outcome)
