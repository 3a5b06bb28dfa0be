"""`python -m benchmarks.guard_lag`: a worker's loop lag beside a large prompt under `[guard]`.

Streams run through a gateway whose guard masks; then a prompt of some megabytes comes. The
gateway has this process's loop for itself: engine and clients are in another process. Lag is
told twice: by the clock, and as CPU time of the loop's thread in one go, which is what the
gateway itself is to blame for on a machine that does other things, too.
"""

import argparse
import asyncio
import gc
import json
import multiprocessing
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from random import Random

import uvloop

from proa.domain.fleet import EngineKind, EngineSpec, EngineState, EngineView, FleetView
from proa.gateway.connection import ClientConnection
from proa.gateway.messages import ApplySettings
from proa.gateway.plane import DataPlane
from proa.gateway.settings import GatewaySettings, LogSettings
from proa.guard.policy import GuardSettings
from proa.telemetry.rows import SharedRows
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import request_bytes
from proa.testing.received import ReceivedRequest
from proa.testing.replies import event_bytes, json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Wait

SENTENCE = "안녕하세요, 오늘 회의 내용을 정리해서 내일 아침까지 보내 주세요. "
PERSONAL = "제 번호는 010-1234-5678입니다. "
_SENTENCES = 50  # for each with a number
PATH = "/v1/chat/completions"
_PROBE_S = 0.001
_EVENT_S = 0.05
_EVENTS = 2_000
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class LagStats:
    """Of the loop while the prompt was under way, and `without` it, before.

    `prompt_s` is until its answer was there.
    """

    streams: int
    prompt_bytes: int
    prompt_s: float
    longest_lag_ms: float
    longest_cpu_ms: float
    longest_cpu_without_ms: float
    loop_busy_share: float


def prompt(size: int) -> bytes:
    """A chat request of about `size` bytes of Korean text, with some phone numbers."""
    paragraph = SENTENCE * _SENTENCES + PERSONAL
    text = paragraph * (size // len(paragraph.encode()) + 1)
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    encoded = json.dumps(body, ensure_ascii=False).encode()
    return request_bytes(PATH, encoded, headers=(("content-type", "application/json"),))


async def measured(streams: int, prompt_bytes: int, *, alone_s: float = 2.0) -> LagStats:
    """Run it once; `alone_s` is how long the loop is watched before the prompt comes."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    load = context.Process(target=_load, args=(theirs, streams, prompt_bytes), daemon=True)
    load.start()
    theirs.close()
    try:
        plane, server = await _gateway(await _told(ours))
        address = server.sockets[0].getsockname()
        ours.send(f"http://127.0.0.1:{address[1]}")
        assert await _told(ours) == "running"
        gc.freeze()  # as workers do
        probe = asyncio.create_task(_probe())
        await asyncio.sleep(alone_s)
        probe.cancel()
        alone = await probe
        probe = asyncio.create_task(_probe())
        ours.send("go")
        seconds = float(await _told(ours))
        probe.cancel()
        lags = await probe
        plane.guard_helper.close()
        server.close()
    finally:
        load.terminate()
    return LagStats(
        streams=streams,
        prompt_bytes=prompt_bytes,
        prompt_s=round(seconds, 3),
        longest_lag_ms=_longest_ms(lag for lag, _ in lags),
        longest_cpu_ms=_longest_ms(cpu for _, cpu in lags),
        longest_cpu_without_ms=_longest_ms(cpu for _, cpu in alone),
        loop_busy_share=round(sum(cpu for _, cpu in alone) / alone_s, 3),
    )


def _longest_ms(seconds: Iterable[float]) -> float:
    return round(max(seconds) * 1e3, 2)


async def _probe() -> list[tuple[float, float]]:
    """How late each turn of the loop came, and what CPU time went by; until it is cancelled."""
    lags: list[tuple[float, float]] = []
    try:
        while True:
            since_s, cpu_s = time.monotonic(), time.thread_time()
            await asyncio.sleep(_PROBE_S)
            late_s = time.monotonic() - since_s - _PROBE_S
            lags.append((late_s, time.thread_time() - cpu_s))
    except asyncio.CancelledError:
        return lags


async def _told(pipe: Connection) -> str:
    """The load's next word."""
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe.fileno(), arrived.set)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            await arrived.wait()
    finally:
        loop.remove_reader(pipe.fileno())
    return str(pipe.recv())


async def _gateway(engine_url: str) -> tuple[DataPlane, asyncio.Server]:
    rows = SharedRows.create(2)
    rows.use(1)
    loop = asyncio.get_running_loop()
    plane = DataPlane(loop, rows, 1, Random(1))
    settings = GatewaySettings(
        engines=(EngineSpec(name="main", url=engine_url),),
        guard=GuardSettings(mode="token"),
        logs=LogSettings(requests=False),
    )
    plane.apply_settings(ApplySettings(1, settings, {"main": 0}, {}, "lag"))
    view = EngineView(name="main", kind=EngineKind.OPENAI, state=EngineState.READY)
    plane.apply_fleet(FleetView(1, (view,)))
    plane.sweep()
    server = await loop.create_server(lambda: ClientConnection(plane), "127.0.0.1", 0)
    return plane, server


# the other process


def _load(pipe: Connection, streams: int, prompt_bytes: int) -> None:
    uvloop.run(_run_load(pipe, streams, prompt_bytes))


async def _run_load(pipe: Connection, streams: int, prompt_bytes: int) -> None:
    large = prompt(prompt_bytes)
    async with ScriptedEngine(_reply) as engine:
        pipe.send(engine.url)
        url = pipe.recv()
        async with RawClient.connect(url, timeout_s=_TIMEOUT_S) as client:
            await client.send(prompt(50_000))  # the helper starts
            await client.read_response()
            begun = [asyncio.Event() for _ in range(streams)]
            running = []
            for event in begun:
                running.append(asyncio.create_task(_stream(url, event)))
                await asyncio.sleep(_EVENT_S / streams)  # not all in one step
            await asyncio.gather(*(event.wait() for event in begun))
            pipe.send("running")
            await asyncio.to_thread(pipe.recv)
            since_s = time.monotonic()
            await client.send(large)
            answer = await client.read_response()
            assert answer.status == 200, answer
            pipe.send(str(time.monotonic() - since_s))
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _reply(request: ReceivedRequest) -> Reply:
    if len(request.body) > 1000:
        message = {"role": "assistant", "content": "네, 보내 드렸습니다."}
        return json_reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    delta = {"index": 0, "delta": {"content": "안녕하세요 "}, "finish_reason": None}
    event = event_bytes({"id": "c", "choices": [delta]})
    return sse_reply([step for _ in range(_EVENTS) for step in (event, Wait(_EVENT_S))])


async def _stream(url: str, begun: asyncio.Event) -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "안녕"}]}
    request = request_bytes(PATH, json.dumps(body).encode())
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        while await reader.read(65_536):
            begun.set()
    finally:
        writer.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard_lag", description=__doc__)
    parser.add_argument("--streams", type=int, default=256)
    parser.add_argument("--prompt-bytes", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    for _ in range(arguments.runs):
        stats = uvloop.run(measured(arguments.streams, arguments.prompt_bytes))
        print(json.dumps(asdict(stats)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
