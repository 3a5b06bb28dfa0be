"""Two translations after one another: Anthropic's API for an engine that reads one text."""

from collections.abc import Sequence

from proa.wire.translate.base import Translation


class Chain:
    """`outer` is the client's translation, `inner` that of the engine, made from its body."""

    def __init__(self, outer: Translation, inner: Translation) -> None:
        self._outer = outer
        self._inner = inner
        self.name = inner.name
        self.target = inner.target
        self.body = inner.body
        self.usage = inner.usage
        self.failure: bytes | None = None

    def answer(self, body: bytes, lines: Sequence[bytes] = ()) -> bytes | None:
        answer = self._inner.answer(body, lines)
        return None if answer is None else self._outer.answer(answer)

    def feed(self, data: bytes) -> bytes:
        out = self._outer.feed(self._inner.feed(data))
        self.failure = self._inner.failure
        return out

    def finish(self) -> bytes:
        out = self._outer.feed(self._inner.finish())
        self.failure = self._inner.failure
        return out if self.failure is not None else out + self._outer.finish()

    @property
    def held_bytes(self) -> int:
        return self._inner.held_bytes
