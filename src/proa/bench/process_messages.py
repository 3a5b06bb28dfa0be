"""What the run and its client processes say to each other, as frames over pipes.

A frame is four bytes of length and a MessagePack value. Times are of the monotonic clock.
"""

import struct
from collections.abc import Iterator

import msgspec

from proa.bench.arrivals import ArrivalSpec
from proa.bench.body import BodySpec
from proa.bench.raw import RawExchange
from proa.bench.target import TargetSpec
from proa.bench.workloads import TokenScale, WorkloadSpec

_LENGTH = struct.Struct("!I")


class LoadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One level: either `users` in a closed loop, or `arrivals`, or the workload's trace.

    `stagger_s` spreads the users' first requests. `max_concurrency` caps an open loop.
    For trials of the client itself: `max_connections` holds it back, `asks_kernel` false has
    the event loop stamp what arrives, as it does with TLS.
    """

    users: int | None = None
    arrivals: ArrivalSpec | None = None
    stagger_s: float = 2.0
    max_concurrency: int | None = None
    max_connections: int | None = None
    asks_kernel: bool = True
    timeout_s: float = 300.0

    @property
    def connections(self) -> int:
        """Connections that are opened before the load."""
        if self.users is not None:
            return self.users
        return min(self.max_concurrency or 32, 256)


class TargetLoad(msgspec.Struct, frozen=True):
    """A target as a client process needs it."""

    target: TargetSpec
    body: BodySpec = BodySpec()
    scale: TokenScale = TokenScale()


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Load this share of a level: users or requests whose number mod `of` is `share`.

    The load begins at `begin_s`, or when the connections are open, if that is later.
    """

    targets: list[TargetLoad]
    workload: WorkloadSpec
    load: LoadSpec
    begin_s: float
    first_number: int = 0
    share: int = 0
    of: int = 1


class Pulse(msgspec.Struct, frozen=True, tag=True):
    """Sent a hundred times a second; how late it is read is how late the event loop is."""

    at_s: float


class Stop(msgspec.Struct, frozen=True, tag=True):
    """End the load, whatever is in flight."""


class Up(msgspec.Struct, frozen=True, tag=True):
    """The process has started and reads."""


class Ended(msgspec.Struct, frozen=True, tag=True):
    """One exchange."""

    raw: RawExchange


class Tick(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How a client process is, ten times a second.

    `pausing` are users that wait after a failure. `oldest_sent_s` is of what is in flight
    (None: nothing): all that was sent before it has been handed over. `pulse_delays_s` and
    `loop_lags_s` are since the last tick. `runqueue_s` is the time that the process waited
    for a CPU, of /proc/self/schedstat. `reads` are of the load so far, and of `kernel_reads` the
    kernel told the time; `read_delays_s` is from arrival to reading, of some since the last tick.
    """

    share: int
    at_s: float
    on_wire: int
    pausing: int = 0
    oldest_sent_s: float | None
    cpu_s: float
    runqueue_s: float
    late_connects: int
    pulse_delays_s: list[float]
    loop_lags_s: list[float]
    reads: int = 0
    kernel_reads: int = 0
    read_delays_s: list[float] = []


class Over(msgspec.Struct, frozen=True, tag=True):
    """The process has ended its load; `error` where it could not begin."""

    share: int
    next_number: int = 0
    error: str = ""


ToClient = Begin | Pulse | Stop
FromLoad = Ended | Tick | Over
FromClient = Up | FromLoad

_encoder = msgspec.msgpack.Encoder()
to_client = msgspec.msgpack.Decoder(ToClient)
from_client = msgspec.msgpack.Decoder(FromClient)


def frame(message: ToClient | FromClient) -> bytes:
    """A message with its length before it."""
    data = _encoder.encode(message)
    return _LENGTH.pack(len(data)) + data


class Frames:
    """Bytes come in in any pieces, whole frames go out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that `data` completes, without their lengths."""
        buffer = self._buffer
        buffer += data
        at = 0
        while len(buffer) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer, at)
            end = at + _LENGTH.size + length
            if len(buffer) < end:
                break
            yield bytes(memoryview(buffer)[at + _LENGTH.size : end])
            at = end
        if at:
            del buffer[:at]
