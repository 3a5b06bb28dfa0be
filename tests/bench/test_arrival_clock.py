"""The kernel's stamps on a real socket: right while the loop is away, and what is done without."""

import asyncio
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from proa.bench.arrival_clock import ArrivalClock
from proa.bench.stamped_socket import StampedSocket, Wire, connect

AWAY_S = 0.02
TRIES = 2000
linux = pytest.mark.skipif(sys.platform != "linux", reason="SO_TIMESTAMPNS is Linux's")


class Reads:
    """Notes what arrives."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.data = b""
        self.losses: list[Exception | None] = []
        self.wire: Wire | None = None
        self._changed = asyncio.Event()

    def connection_made(self, wire: Wire) -> None:
        self.wire = wire

    def arrived(self, data: bytes, at_s: float) -> None:
        self.data += data
        self.times.append(at_s)
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.losses.append(exc)
        self._changed.set()

    async def change(self) -> None:
        await self._changed.wait()
        self._changed.clear()


@asynccontextmanager
async def connected(clock: ArrivalClock) -> AsyncIterator[tuple[Reads, socket.socket]]:
    """Who reads, and a blocking socket at the other end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        reads = Reads()
        host, port = listener.getsockname()
        await connect(host, port, reads, clock)
        other, _ = listener.accept()
    with other:
        yield reads, other
        assert reads.wire is not None
        reads.wire.abort()


def be_away(since_s: float) -> None:
    while time.monotonic() < since_s + AWAY_S:
        pass


async def warm(clock: ArrivalClock, reads: Reads, other: socket.socket) -> None:
    """Until the kernel stamps: it begins to do so a moment after it was first asked."""
    for _ in range(TRIES):
        other.send(b"-")
        await reads.change()
        if clock.kernel_reads:
            return
    pytest.skip("this kernel stamps nothing")


@linux
async def test_stamps_are_of_the_arrival_while_the_loop_is_away() -> None:
    clock = ArrivalClock()
    async with connected(clock) as (reads, other):
        await warm(clock, reads, other)
        clock.take_delays_s()
        before_s = time.monotonic()
        other.send(b"x")
        sent_s = time.monotonic()
        be_away(sent_s)
        await reads.change()
    assert before_s - 1e-4 <= reads.times[-1] < sent_s + AWAY_S / 2
    (delay_s,) = clock.take_delays_s()
    assert delay_s >= AWAY_S - (sent_s - before_s) - 1e-3


@linux
async def test_a_read_of_several_writes_has_the_time_of_the_last() -> None:
    clock = ArrivalClock()
    async with connected(clock) as (reads, other):
        await warm(clock, reads, other)
        reads.data = b""
        other.send(b"first")
        be_away(time.monotonic())
        last_s = time.monotonic()
        other.send(b"last")
        while reads.data != b"firstlast":  # mostly one read; on a busy machine it may be two
            await reads.change()
    assert reads.times[-1] >= last_s - 1e-4


async def test_without_the_kernels_word_the_loop_stamps_as_it_reads() -> None:
    clock = ArrivalClock(asks_kernel=False)
    async with connected(clock) as (reads, other):
        other.send(b"x")
        sent_s = time.monotonic()
        be_away(sent_s)
        await reads.change()
    assert reads.times[-1] >= sent_s + AWAY_S
    assert (clock.reads, clock.kernel_reads, clock.take_delays_s()) == (1, 0, [])


def test_a_kernel_that_refuses_is_not_asked_again() -> None:
    class Refusing(socket.socket):
        asked = 0

        def setsockopt(self, *_: object) -> None:
            self.asked += 1
            raise OSError("no such option")

    clock = ArrivalClock(asks_kernel=True)
    with Refusing() as refusing:
        clock.watch(refusing)
        clock.watch(refusing)
        assert refusing.asked == 1


@pytest.mark.parametrize("wrong_s", [3600, -3600])
def test_a_time_that_cannot_be_is_not_taken(wrong_s: int) -> None:
    """The wall clock was set between arrival and reading."""
    clock, before_s = ArrivalClock(), time.monotonic()
    told = struct.pack("@ll", int(time.time()) + wrong_s, 0)
    assert before_s <= clock.arrived_s([(1, 35, told)]) <= time.monotonic()
    assert (clock.reads, clock.kernel_reads) == (1, 0)


def test_a_control_message_of_another_form_is_none() -> None:
    clock, before_s = ArrivalClock(), time.monotonic()
    assert clock.arrived_s([(1, 35, b"1234")]) >= before_s
    assert clock.kernel_reads == 0


def test_delays_are_thinned_out_evenly() -> None:
    clock = ArrivalClock()
    for _ in range(1000):
        now_ns = time.time_ns()
        clock.arrived_s([(1, 35, struct.pack("@ll", *divmod(now_ns, 1_000_000_000)))])
    delays_s = clock.take_delays_s()
    assert len(delays_s) == 100
    assert max(delays_s) < 1.0
    assert clock.take_delays_s() == []


async def test_what_the_socket_does_not_take_at_once_goes_out_in_order() -> None:
    clock = ArrivalClock()
    async with connected(clock) as (reads, other):
        assert reads.wire is not None
        sent = b"".join(b"%8d" % n for n in range(1_000_000))
        reads.wire.write(sent)
        reads.wire.write(b"end")
        taken = await asyncio.to_thread(received, other, len(sent) + 3)
    assert taken == sent + b"end"


def received(from_: socket.socket, count: int) -> bytes:
    got = bytearray()
    while len(got) < count:
        got += from_.recv(1 << 20)
    return bytes(got)


@pytest.mark.parametrize("resets", [False, True])
async def test_the_end_is_told_once(resets: bool) -> None:
    async with connected(ArrivalClock()) as (reads, other):
        if resets:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        other.close()
        await reads.change()
        assert reads.wire is not None
        reads.wire.write(b"too late")
        reads.wire.close()
    assert [type(loss) for loss in reads.losses] == [ConnectionResetError if resets else type(None)]


async def test_a_write_to_a_reset_connection_is_its_end() -> None:
    async with connected(ArrivalClock()) as (reads, other):
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        other.close()
        assert isinstance(reads.wire, StampedSocket)
        reads.wire.write(b"into the void")
        assert reads.losses == []
        await reads.change()
    assert [type(loss) for loss in reads.losses] == [ConnectionResetError]
