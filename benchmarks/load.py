"""Loads on a subject, and what its data plane used for them."""

import asyncio
import operator
import time
from dataclasses import dataclass

from benchmarks.clients import JsonClient, Load, StreamClient, connect
from benchmarks.processes import cpu_ns, resident_bytes
from benchmarks.requests import BODIES, chat_requests
from benchmarks.subjects import Subject
from proa.testing.fast_engine import FastEngine

CONNECTIONS = 16
STREAMS = 256
EVENTS_PER_S = 100.0
ROLE_FINISH_USAGE_DONE = 4
_SETTLE_S = 0.3
_LATE_S = 60.0
_ANSWER = FastEngine(rate=1.0, events=1).answer.partition(b"\r\n\r\n")[2]


@dataclass(frozen=True)
class LoadSample:
    """One load within `seconds`: `count` requests or events, which came in `reads` reads."""

    count: int
    reads: int
    seconds: float
    worker_ns: int
    apart_ns: int
    resident_bytes: int

    @property
    def cpu_us(self) -> float:
        """CPU of the data plane for one request or event."""
        return self.worker_ns / self.count / 1e3

    @property
    def apart_us(self) -> float:
        """CPU of supervisor, control plane or master for one request or event."""
        return self.apart_ns / self.count / 1e3

    @property
    def per_s(self) -> float:
        return self.count / self.seconds

    @property
    def busy(self) -> float:
        """Share of its CPU that the data plane used."""
        return self.worker_ns / self.seconds / 1e9


async def json_load(subject: Subject, seconds: float) -> LoadSample:
    """A closed loop of JSON requests on `CONNECTIONS` connections."""
    load = Load()
    requests = chat_requests(subject, stream=False)
    for index in range(CONNECTIONS):
        first = index * BODIES // CONNECTIONS
        client = JsonClient(load, [*requests[first:], *requests[:first]], _ANSWER)
        await connect(subject.port, client)
    await _watch(load, min(0.2, seconds / 4))
    sample = await _sample(load, subject, seconds)
    load.stopping = True
    await asyncio.wait_for(load.ended, _LATE_S)
    return sample


async def stream_load(subject: Subject, *, events: int) -> LoadSample:
    """`STREAMS` streams at once; the sample leaves out their beginning and end."""
    load = Load()
    requests = chat_requests(subject, stream=True)
    expected = events + ROLE_FINISH_USAGE_DONE
    for index in range(STREAMS):
        await connect(subject.port, StreamClient(load, requests[index % BODIES], expected))
    while load.begun < STREAMS:
        await _watch(load, 0.01)
    await _watch(load, _SETTLE_S)
    left_s = events / EVENTS_PER_S - 3 * _SETTLE_S
    sample = await _sample(load, subject, left_s)
    await asyncio.wait_for(load.ended, _LATE_S)
    return sample


async def latencies_ns(subject: Subject, count: int) -> list[int]:
    """From the write of a request to its whole answer, one at a time on one connection."""
    load = Load()
    load.latencies_ns = []
    requests = chat_requests(subject, stream=False)
    await connect(subject.port, JsonClient(load, requests, _ANSWER))
    while load.count < count:
        await _watch(load, 0.01)
    load.stopping = True
    await asyncio.wait_for(load.ended, _LATE_S)
    return load.latencies_ns[count // 10 : count]


async def _watch(load: Load, seconds: float) -> None:
    """Let the load run, unless it fails."""
    await asyncio.wait([load.ended], timeout=seconds)
    if load.ended.done():
        load.ended.result()


async def _sample(load: Load, subject: Subject, seconds: float) -> LoadSample:
    def state() -> tuple[int, ...]:
        worker_ns, apart_ns = cpu_ns(subject.worker_pid), sum(map(cpu_ns, subject.apart))
        return load.count, load.reads, time.perf_counter_ns(), worker_ns, apart_ns

    before = state()
    await _watch(load, seconds)
    count, reads, taken_ns, worker_ns, apart_ns = map(operator.sub, state(), before)
    return LoadSample(
        count=count,
        reads=reads,
        seconds=taken_ns / 1e9,
        worker_ns=worker_ns,
        apart_ns=apart_ns,
        resident_bytes=resident_bytes(subject.worker_pid),
    )
