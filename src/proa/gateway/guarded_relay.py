"""A stream on its way to the client through the guard: masked and restored, or nothing of it."""

from proa.gateway.relay import EventRelay, Withheld
from proa.guard.answer_editor import AnswerEditor
from proa.guard.stream import StreamFilter
from proa.wire.surface import Surface


class GuardedRelay(EventRelay):
    """What another relay lets pass goes through the guard, whatever API it was translated from.

    `started` and `error` follow that relay: what the guard holds back is none of theirs.
    """

    __slots__ = ("_filter", "_inner")

    def __init__(self, surface: Surface, inner: EventRelay, editor: AnswerEditor) -> None:
        super().__init__(surface, ndjson=inner.ndjson, started=inner.started)
        self._inner = inner
        self._filter = StreamFilter(editor, ndjson=inner.ndjson)
        self.usage = inner.usage

    def feed(self, data: bytes) -> bytes:
        """
        Raises:
            TailTooLong: an incomplete event above 1 MiB.
            Withheld: the guard failed; nothing more may go on.
        """
        return self._guarded(self._inner.feed(data), is_last=self._inner.error is not None)

    def passes(self, chunk: bytes) -> bool:
        return False

    def finish(self) -> bytes:
        return self._guarded(self._inner.finish(), is_last=True)

    def ended_early(self) -> bool:
        return self._inner.ended_early()

    def release(self) -> bytes:
        return self._guarded(self._inner.release(), is_last=False)

    def _guarded(self, events: bytes, *, is_last: bool) -> bytes:
        self.started, self.error = self._inner.started, self._inner.error
        try:
            out = self._filter.feed(events) if events else b""
            return out + self._filter.finish() if is_last else out
        except Exception as fault:  # whatever it is: fail closed
            raise Withheld from fault
