"""A second try beside a first one that takes too long: the first whole answer wins."""

from typing import TYPE_CHECKING

from proa.engines.adapters import classify
from proa.gateway.attempt import ERROR_BODY_MAX_BYTES, Attempt
from proa.gateway.link import EngineLink
from proa.gateway.upstream import UpstreamConnection
from proa.wire.response_parser import AnswerMemo, ResponseParser

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

HELD_MAX_BYTES = 1_048_576
HELD_MAX_PIECES = 1024


class SecondTry(Attempt):
    """A try beside `first`, whose place in the exchange it takes if it wins or outlives it."""

    __slots__ = ("_since_s", "decision", "first_name", "has_failed", "is_racing", "plain_mode")

    def __init__(self, exchange: "Exchange", link: EngineLink, first: Attempt) -> None:
        super().__init__(exchange, link)
        self.plain_mode = self._mode
        self._mode, first._mode = _hold, self.hold
        self._since_s = exchange.plane.now
        self.decision = b""
        self.first_name = first.link.name
        self.is_racing = True
        self.has_failed = False

    # as any try, but while the first is there, the client's deadline is about that one

    def start(self) -> None:
        deadline = self.exchange.connection.deadline
        super().start()
        self._keep(deadline)

    def _send(self, connection: UpstreamConnection) -> None:
        deadline = self.exchange.connection.deadline
        super()._send(connection)
        self._keep(deadline)

    def _keep(self, deadline: float) -> None:
        if self.is_racing:
            self.exchange.connection.deadline = deadline

    def sweep(self, now: float) -> None:
        """Give up connecting in time."""
        limit_s = self.exchange.limits.connect_timeout_s
        if self.is_racing and not self.body_sent and now - self._since_s >= limit_s:
            self.timed_out()

    def takes_whole(self, known: AnswerMemo, body: bytes) -> bool:
        if not (known.is_plain and self.exchange.takes_whole()):
            return False
        self.settle(self)
        return super().takes_whole(known, body)

    def received(self, parser: ResponseParser) -> None:
        if self.is_racing:  # the exchange follows what the first one gets
            self.answered = True
            self.link.moved_at = self.exchange.plane.now
            self._mode(self, parser)
        else:
            super().received(parser)

    def hold(self, attempt: Attempt, parser: ResponseParser) -> None:
        """Read on until an answer is whole; then the first success has won."""
        pieces = parser.pieces
        is_large = len(pieces) > HELD_MAX_PIECES or sum(map(len, pieces)) > HELD_MAX_BYTES
        if not (parser.complete or (is_large and parser.head_complete)):
            return
        if parser.status < 400:
            self.settle(attempt)
        elif attempt is self and self.is_racing:
            self._refused(parser)
            return
        attempt._mode = self.plain_mode
        attempt._mode(attempt, parser)
        if attempt.exchange.committed:
            self.settle(attempt)

    def _refused(self, parser: ResponseParser) -> None:
        """Whatever the error is, the first one may still do better."""
        body = b"".join(parser.pieces)[:ERROR_BODY_MAX_BYTES]
        outcome = classify(self.link.kind, parser.status, body)
        if parser.complete:
            self._finish(parser, outcome)
        else:
            self.cancel(outcome)
        self.goes_on(self)

    def settle(self, winner: Attempt) -> None:
        """`winner` has the answer, or is the one that is left: the other one stops at once."""
        if winner is not self:
            self.stop()
        elif self.is_racing:
            self._take_over()

    def goes_on(self, failed: Attempt) -> bool:
        """Whether, after one of both has failed, the other one is still at it."""
        self.has_failed = self.has_failed or failed is self
        if not self.is_racing:
            return False
        exchange = self.exchange
        exchange.retried = exchange.retried or failed.body_sent
        if failed is self:
            self.is_racing = False
        else:
            self._take_over()
            if not self.body_sent:
                exchange.expect_within(exchange.limits.connect_timeout_s)
        return True

    def stop(self) -> None:
        """The exchange is over; nobody waits for this one any more."""
        if self.is_racing:
            self.is_racing = False
            self.cancel()

    def _take_over(self) -> None:
        exchange = self.exchange
        first = exchange.attempt
        self.is_racing = False
        if first is not None:
            first.cancel()
        exchange.attempt = self
        exchange.decision = self.decision


def _hold(attempt: Attempt, parser: ResponseParser) -> None:
    assert isinstance(attempt, SecondTry)
    attempt.hold(attempt, parser)
