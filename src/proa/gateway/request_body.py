"""A request body that comes in several reads."""

from typing import TYPE_CHECKING, cast

from proa.gateway.settings import LimitsSettings
from proa.telemetry.rows import Header
from proa.wire.chunked import ChunkedDecoder

if TYPE_CHECKING:
    from proa.gateway.plane import DataPlane

_GRACE_S = 5.0
_AHEAD_S = 20.0
_SMALL_BYTES = 65_536


class RequestBody:
    """Collects counted and chunked bodies; what it holds counts against the worker's budget.

    Where a guard will search it, it grows with every read in place of being joined at its
    end: joining some megabytes takes as long as a loop may be held up.

    `waits_since` is the coarse time at which reading stopped for want of budget, else 0.
    """

    __slots__ = (
        "_decoder", "_grown", "_left", "_paid_bytes", "_paid_until", "_parts", "_plane", "_since",
        "size", "waits_since",
    )  # fmt: skip

    def __init__(self, length: int, plane: "DataPlane", *, chunked: bool) -> None:
        self._decoder = ChunkedDecoder() if chunked else None
        self._left = length
        self._parts: list[bytes] = []
        self._grown = None if plane.guard is None else bytearray()
        self._plane = plane
        self._since = plane.now
        self._paid_bytes = 0
        self._paid_until = plane.now
        self.size = 0
        self.waits_since = 0.0

    def feed(self, data: bytes) -> bytes | None:
        """Take a read; returns the bytes after the body once it is whole, None before.

        Raises:
            ProtocolRefusal: broken chunks.
        """
        if self._decoder is not None:
            for piece in self._decoder.feed(data):
                self._add(piece)
            return self._decoder.rest if self._decoder.complete else None
        piece = data[: self._left] if len(data) > self._left else data
        self._left -= len(piece)
        self._add(piece)
        return data[len(piece) :] if self._left == 0 else None

    def announced_bytes(self) -> int:
        """What there is with what the chunk that is coming will add by its own word."""
        return self.size + (self._decoder.left if self._decoder is not None else self._left)

    def joined(self) -> bytes:
        """The whole body, which is the caller's from now on; its size stays booked."""
        if self._grown is not None:
            grown = self._grown
            return bytes(grown) if len(grown) <= _SMALL_BYTES else cast(bytes, grown)
        whole = b"".join(self._parts)
        self._parts.clear()
        return whole

    def too_slow(self, now: float, limits: LimitsSettings) -> bool:
        """Whether the sender falls short of the minimum rate, after a grace of 5 s.

        Each byte pays for its time, but what came fast for 20 s ahead at most: a large
        body that stops coming must not be held for hours.
        """
        rate = limits.body_min_bytes_per_s
        if not rate:
            return False
        paid_until = self._paid_until + (self.size - self._paid_bytes) / rate
        self._paid_until = min(paid_until, now + _AHEAD_S)
        self._paid_bytes = self.size
        return now - self._since > _GRACE_S and now > self._paid_until

    def go_on(self, now: float) -> None:
        """Reading goes on; the time without budget was not the sender's."""
        self._paid_until += now - self.waits_since
        self.waits_since = 0.0

    def release(self) -> None:
        """Give the held bytes back to the budget."""
        self._plane.row[Header.BODY_BYTES] -= self.size
        self.size = 0
        self._parts.clear()
        self._grown = None

    def _add(self, piece: bytes) -> None:
        if piece:
            if self._grown is None:
                self._parts.append(piece)
            else:
                self._grown += piece
            self.size += len(piece)
            self._plane.row[Header.BODY_BYTES] += len(piece)
