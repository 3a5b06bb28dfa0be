"""Requests that ended, on their way from a worker to whoever keeps them.

A record costs the worker an append; a sweep sends them together. Where nobody takes them,
the newest beyond a bound are lost and counted: recording never holds up serving.
"""

from collections.abc import Callable
from typing import Protocol

from proa.domain.request_record import KeptRequest, RequestRecord
from proa.gateway.messages import Records, frame
from proa.telemetry.logs import cut
from proa.telemetry.rows import Header

MOST_WAITING = 20_000
MOST_UNREAD_BYTES = 8_388_608
_BATCH = 2_000


class Channel(Protocol):
    """The way to the supervisor: the part of `asyncio.WriteTransport` that is needed."""

    def write(self, data: bytes) -> None: ...

    def get_write_buffer_size(self) -> int: ...


class Recorder:
    """`counts` are the worker's counters, where what is lost is counted."""

    def __init__(self, channel: Channel, counts: list[int], clock: Callable[[], float]) -> None:
        self._channel = channel
        self._counts = counts
        self._clock = clock
        self._waiting: list[KeptRequest] = []

    def take(self, record: RequestRecord) -> None:
        """Keep the record of a request that ended now."""
        if len(self._waiting) >= MOST_WAITING:
            self._counts[Header.RECORDS_DROPPED] += 1
            return
        cut(record)
        self._waiting.append(KeptRequest(round(self._clock(), 3), record))

    def flush(self) -> None:
        """Send what waits, as far as the supervisor reads it."""
        while self._waiting and self._channel.get_write_buffer_size() < MOST_UNREAD_BYTES:
            batch = self._waiting[:_BATCH]
            del self._waiting[:_BATCH]
            self._channel.write(frame(Records(batch)))
