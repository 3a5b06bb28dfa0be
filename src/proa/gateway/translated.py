"""Tries on engines that do not speak the client's API, or may turn out not to.

`begin` decides once, at dispatch; from then on the try is of this kind, and ordinary tries
know nothing of it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from proa.engines.adapters import classify
from proa.engines.dialect import COUNT_TOKENS, Dialect
from proa.gateway.attempt import ERROR_BODY_MAX_BYTES, Attempt
from proa.gateway.body import Asked
from proa.gateway.failover import engine_error
from proa.gateway.link import EngineLink
from proa.gateway.relay import EventRelay
from proa.gateway.request_start import request_start
from proa.gateway.translated_relay import TranslatedRelay, told_anew
from proa.gateway.upstream import UpstreamConnection
from proa.wire.response_parser import AnswerMemo, ResponseParser
from proa.wire.translate.base import Context, Translation, Untranslatable

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

ANSWER_MAX_BYTES = 67_108_864


def begin(exchange: "Exchange", link: EngineLink, decision: bytes) -> bool:
    """Start the try on this engine, or answer in its place; False where an ordinary one will do.

    `decision` are the header lines that tell why this engine was chosen.
    """
    dialect, asked = link.dialect, exchange.asked
    assert dialect is not None
    assert asked is not None
    if exchange.head.method != b"POST":
        return False
    path = asked.target.partition(b"?")[0].decode("ascii")
    if path == COUNT_TOKENS and path in dialect.lacks:
        exchange.decision = _translated(decision, "estimate")
        _count(exchange, asked)
        return True
    model = exchange.upstream_model
    try:
        context = _context(exchange, link, model)
        translation = dialect.translate(path, exchange.body, context, model=model)
    except Untranslatable as fault:
        exchange.untranslatable(str(fault))
        return True
    if translation is not None:
        exchange.decision = _translated(decision, translation.name)
        path = translation.target.decode("ascii")
    exchange.attempt = attempt = DialectAttempt(exchange, link, dialect, translation)
    attempt.path, attempt.decision = path, decision
    attempt.start()
    return True


def _count(exchange: "Exchange", asked: Asked) -> None:
    """Answer with the estimate of a prompt's tokens."""
    tokens = exchange.plane.tokens.estimate(asked, exchange.body)
    if tokens is None:
        exchange.refuse(400, "`messages` is needed to count their tokens", "not_translated")
    else:
        exchange.reply(200, msgspec.json.encode({"input_tokens": tokens}))


def _translated(decision: bytes, name: str) -> bytes:
    return b"%b translated=%b\r\n" % (decision[:-2], name.encode())


def _context(exchange: "Exchange", link: EngineLink, model: str | None) -> Context:
    plane, asked = exchange.plane, exchange.asked
    assert asked is not None
    return Context(
        answer_id=exchange.request_id.decode("ascii", "replace"),
        created_s=int(plane.wall_clock()),
        input_tokens=plane.tokens.estimate(asked, exchange.body) or 0,
        count_tokens=lambda text: plane.tokens.text_tokens(model, text),
        template=exchange.settings.chat_template(model, link.spec.chat_template),
        triton=link.spec.triton,
    )


class DialectAttempt(Attempt):
    """A try with `translation`, or, where that is None, one whose 404 is read.

    `path` is where the engine gets the request, `decision` what was told of the choice.
    """

    __slots__ = (
        "_dialect", "_pieces", "_plain_head", "_size", "decision", "path", "translation",
    )  # fmt: skip

    def __init__(
        self, exchange: "Exchange", link: EngineLink, dialect: Dialect,
        translation: Translation | None,
    ) -> None:  # fmt: skip
        super().__init__(exchange, link)
        self._plain_head, self._mode = self._mode, _head
        self._dialect = dialect
        self._pieces: list[bytes] = []
        self._size = 0
        self.translation = translation
        self.path = ""
        self.decision = b""

    def _send(self, connection: UpstreamConnection) -> None:
        exchange, translation = self.exchange, self.translation
        if translation is None:
            super()._send(connection)
            return
        self.connection = connection
        self.body_sent = True
        exchange.expect_answer()
        is_open = exchange.settings.keys is None
        start = request_start(
            exchange.connection, exchange.head, self.link, translation.target, is_open=is_open
        )
        head = b"%b%b\r\ncontent-length: %d\r\n\r\n"
        head %= (start, exchange.request_id, len(translation.body))
        connection.send(self, head, translation.body)

    def new_relay(self, *, ndjson: bool) -> EventRelay:
        if self.translation is None:
            return super().new_relay(ndjson=ndjson)
        return TranslatedRelay(self.exchange.surface, self.translation)

    def takes_whole(self, known: AnswerMemo, body: bytes) -> bool:
        return self.translation is None and super().takes_whole(known, body)


def _head(attempt: Attempt, parser: ResponseParser) -> None:
    if not parser.head_complete:
        return
    assert isinstance(attempt, DialectAttempt)
    translation, status = attempt.translation, parser.status
    kind = parser.fields.get(b"content-type", b"").lower()
    mode: Callable[[Attempt, ResponseParser], None]
    if status in (404, 405) or (translation is not None and status >= 400):
        mode = _error
    elif translation is None or (status < 300 and kind.startswith(b"text/event-stream")):
        mode = attempt._plain_head
    else:
        mode = _whole
    attempt._mode = mode
    mode(attempt, parser)


def _whole(attempt: Attempt, parser: ResponseParser) -> None:
    """An answer in one piece: it is translated when it is all here."""
    assert isinstance(attempt, DialectAttempt)
    translation, exchange = attempt.translation, attempt.exchange
    assert translation is not None
    body = _collected(attempt, parser)
    if body is None:
        return
    answer = translation.answer(body, parser.lines)
    if answer is None or exchange.committed:
        _retell(attempt, parser, body[:ERROR_BODY_MAX_BYTES], None)
        return
    attempt.usage = translation.usage
    attempt._finish(parser, classify(attempt.link.kind, parser.status, b""))
    exchange.answer_translated(parser, answer)


def _error(attempt: Attempt, parser: ResponseParser) -> None:
    """An error's body is read, so that it can be told anew; it may say "no such route"."""
    assert isinstance(attempt, DialectAttempt)
    body = _collected(attempt, parser)
    if body is None:
        return
    exchange, link = attempt.exchange, attempt.link
    if attempt._dialect.learns(attempt.path, parser.status, body):
        attempt._finish(parser, classify(link.kind, parser.status, body))
        begin(exchange, link, attempt.decision)
    else:
        _retell(attempt, parser, body[:ERROR_BODY_MAX_BYTES], parser.status)


def _collected(attempt: DialectAttempt, parser: ResponseParser) -> bytes | None:
    """The whole body, None while it is on its way."""
    attempt._pieces += parser.pieces
    attempt._size += sum(map(len, parser.pieces))
    parser.pieces.clear()
    if parser.complete:
        return b"".join(attempt._pieces)
    if attempt._size > ANSWER_MAX_BYTES:
        attempt.malformed("an answer too large to be translated")
    return None


def _retell(
    attempt: DialectAttempt, parser: ResponseParser, body: bytes, status: int | None
) -> None:
    """Pass on an error; `status` is None where the engine answered with a success's status."""
    exchange = attempt.exchange
    if attempt.translation is None:
        assert status is not None
        outcome = classify(attempt.link.kind, status, body)
    else:
        error = told_anew(exchange.surface, body, status)
        outcome = classify(attempt.link.kind, error.status, body)
        status, body = error.status, error.data
        if exchange.committed:  # the text goes into an event
            body = error.message.encode()
    attempt._finish(parser, outcome)
    engine_error(attempt, outcome, status, body, parser)
