"""A stream of another API, relayed in the client's."""

from proa.engines.events import StreamError, error_in_event
from proa.gateway.answers import error_body, error_event
from proa.gateway.relay import TAIL_MAX_BYTES, EventRelay, TailTooLong
from proa.wire.surface import Surface
from proa.wire.translate.base import Translation

_NEVER = b"\0"


class TranslatedRelay(EventRelay):
    """An `EventRelay` over the events that the translation makes; errors are told anew.

    Usage is what the engine counted: what its client reads may be an estimate.
    """

    __slots__ = ("_translation",)

    def __init__(self, surface: Surface, translation: Translation) -> None:
        super().__init__(surface, ndjson=False)
        self._translation = translation
        self._usage_sign = _NEVER
        self.usage = translation.usage

    def feed(self, data: bytes) -> bytes:
        return self._relayed(self._translation.feed(data))

    def passes(self, chunk: bytes) -> bool:
        return False

    def finish(self) -> bytes:
        return self._relayed(self._translation.finish())

    def _relayed(self, events: bytes) -> bytes:
        if self._translation.held_bytes > TAIL_MAX_BYTES:
            raise TailTooLong
        out = super().feed(events) if events else b""
        failure = self._translation.failure
        if failure is None or self.error is not None:
            return out
        self.error = told_anew(self._surface, failure)
        if not self.started:
            return out
        event = error_event(self._surface.api, self.error.status, self.error.message, ndjson=False)
        return out + event


def told_anew(surface: Surface, data: bytes, status: int | None = None) -> StreamError:
    """An engine's error in the form of the client's API; without a `status`, that of its words."""
    found = error_in_event(data)
    message = found.message if found is not None else ""
    if not message:
        message = data.decode("utf-8", "replace").strip() or "the engine gave no reason"
    if status is None:
        status = found.status if found is not None else 502
    return StreamError(status, message, error_body(surface.api, status, message))
