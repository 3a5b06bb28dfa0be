"""When bytes arrived, by the kernel's word where it gives one.

SO_TIMESTAMPNS makes `recvmsg` tell when the last byte of a read came to this machine
(CLOCK_REALTIME); an event loop that is late reads late, but its stamps are not. Times that go
out are of the monotonic clock. Source: socket(7); net/ipv4/tcp.c, tcp_recv_timestamp.
"""

import socket
import struct
import sys
import time
from collections.abc import Sequence
from enum import StrEnum

ANCILLARY_BYTES = 64
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h
_TIMESPEC = struct.Struct("@ll")
_OFFSET_EVERY_S = 0.05
_LATE_S, _IMPOSSIBLE_S = 1.0, 60.0  # a read that is so late is doubted, or not believed
_CLOCKS_APART_S = 1e-5  # what two clocks read one after the other may differ by
_KEPT = 100

Ancillary = Sequence[tuple[int, int, bytes]]
_monotonic = time.monotonic
_unpack = _TIMESPEC.unpack


class Clock(StrEnum):
    """Who told when bytes arrived: the kernel, or the event loop as it read them."""

    KERNEL = "kernel"
    LOOP = "loop"


class ArrivalClock:
    """The stamps of one process; counts its reads and how late they were.

    `asks_kernel` false is for a platform without the option, and for trials of one.
    """

    def __init__(self, *, asks_kernel: bool = sys.platform == "linux") -> None:
        self.reads = 0
        self.kernel_reads = 0
        """Reads whose time the kernel told."""
        self._asks_kernel = asks_kernel
        self._delays_s: list[float] = []
        self._offset_s, self._offset_at_s = _offset_s(), _monotonic()

    def watch(self, connected: socket.socket) -> None:
        """Have the kernel stamp what arrives, if it can."""
        if self._asks_kernel:
            try:
                connected.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            except OSError:
                self._asks_kernel = False

    def read_s(self) -> float:
        """Now, as the stamp of a read of which the kernel tells nothing."""
        self.reads += 1
        return _monotonic()

    def arrived_s(self, ancillary: Ancillary) -> float:
        """When what was just read arrived: the kernel's time, else now."""
        now_s = _monotonic()
        self.reads += 1
        if not ancillary or len(ancillary[0][2]) != _TIMESPEC.size:
            return now_s
        seconds, nanoseconds = _unpack(ancillary[0][2])
        if now_s - self._offset_at_s > _OFFSET_EVERY_S:
            self._offset_s, self._offset_at_s = _offset_s(), now_s
        at_s: float = (seconds - self._offset_s[0]) + (nanoseconds - self._offset_s[1]) / 1e9
        delay_s = now_s - at_s
        if not 0.0 <= delay_s < _LATE_S:
            return self._doubted(seconds, nanoseconds, now_s)
        self.kernel_reads += 1
        self._delays_s.append(delay_s)
        return at_s

    def _doubted(self, seconds: int, nanoseconds: int, now_s: float) -> float:
        """The wall clock may have been set: with the offset taken anew, else now."""
        self._offset_s, self._offset_at_s = _offset_s(), now_s
        at_s = (seconds - self._offset_s[0]) + (nanoseconds - self._offset_s[1]) / 1e9
        if not -_CLOCKS_APART_S <= now_s - at_s < _IMPOSSIBLE_S:
            return now_s
        self.kernel_reads += 1
        self._delays_s.append(max(0.0, now_s - at_s))
        return min(at_s, now_s)

    def take_delays_s(self) -> list[float]:
        """From arrival to reading since this was last asked: at most a hundred, evenly chosen."""
        delays_s, self._delays_s = self._delays_s, []
        return delays_s[:: -(-len(delays_s) // _KEPT)] if delays_s else []


def _offset_s() -> tuple[int, int]:
    """The wall clock's seconds and nanoseconds at the monotonic clock's zero.

    The narrowest of three looks, so that an interruption between two clocks does not count.
    """
    narrowest = None
    for _ in range(3):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if narrowest is None or after - before < narrowest[0]:
            narrowest = after - before, wall - (before + after) // 2
    assert narrowest is not None
    return divmod(narrowest[1], 1_000_000_000)
