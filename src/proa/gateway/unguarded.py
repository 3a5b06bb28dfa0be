"""What the guard does to an exchange, where there is none: nothing. See `guarded_exchange.py`."""

from collections.abc import Mapping

from proa.domain.outcome import Outcome
from proa.gateway.client_side import ClientSide
from proa.gateway.relay import EventRelay
from proa.wire.response_parser import ResponseParser


class Unguarded(ClientSide):
    """`is_guarded` tells that an answer goes through the guard: only then is the rest called."""

    __slots__ = ()
    is_guarded = False
    found: Mapping[str, int] | None = None

    @property
    def has_pii(self) -> bool:
        """Whether personal data was found in the body."""
        return False

    def guarded_relay(self, relay: EventRelay) -> EventRelay:
        """What a stream goes through after `relay`."""
        return relay

    def answer_held(self, parser: ResponseParser, body: bytes, outcome: Outcome) -> None:
        """An answer in one piece is whole; it was held until now."""
        self.begin_answer(parser, len(body))
        self.answer.body(body, last=True)
        self.finish(outcome, parser.status)

    def withhold(self, *, ndjson: bool) -> None:
        """What the engine sent cannot be searched: nothing more of it may pass."""
        raise AssertionError("only a guard withholds")

    def shown(self, text: bytes) -> bytes:
        """An engine's error as the client may see it."""
        return text
