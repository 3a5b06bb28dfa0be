"""A fake engine that costs next to nothing, for measuring what stands before it.

    python -m proa.testing.fast_engine --port 9001 --rate 100 --events 500

It answers any POST with a canned chat completion at once, and one whose body
holds `"stream":true` with `--events` chunks at `--rate` events a second. All
streams share one timer, and each has one of `PHASES` places within the period,
so that they do not all write in the same instant. GET gives `/health`,
`/v1/models`, and `/stats` (what was sent so far); other paths 404.
It fakes only bytes and timing: no slots, no queue, no prefill.
"""

import argparse
import asyncio
import itertools
import json
import re
import signal
from typing import cast

import httptools
import uvloop

from proa.testing.chat import chat_completion, chat_events
from proa.testing.replies import chunk, event_bytes, head_bytes, json_bytes

PHASES = 10
STREAM = re.compile(rb'"stream"\s*:\s*true')
JSON_HEADERS = (("content-type", "application/json"),)
STREAM_HEADERS = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))
ANSWER = "A canned answer, about as long as forty tokens of a small model would be. " * 3


def counted(status: int, body: bytes) -> bytes:
    return head_bytes(status, (*JSON_HEADERS, ("content-length", str(len(body))))) + body


class StreamClock:
    """Writes the next event to every stream of the phase whose turn it is."""

    def __init__(self, *, rate: float, events: int) -> None:
        role, text, *_, finish, usage = chat_events(["token "], model="fast")
        self.head = head_bytes(200, STREAM_HEADERS) + chunk(event_bytes(role))
        self.event = chunk(event_bytes(text))
        self.tail = chunk(event_bytes(finish)) + chunk(event_bytes(usage))
        self.tail += chunk(event_bytes("[DONE]")) + chunk(b"")
        self.events_sent = 0
        self._events = events
        self._period_s = 1.0 / rate / PHASES
        self._phases: list[dict[FastConnection, int]] = [{} for _ in range(PHASES)]
        self._next_phase = itertools.cycle(range(PHASES))

    @property
    def streams(self) -> int:
        return sum(len(phase) for phase in self._phases)

    def start(self, connection: "FastConnection") -> None:
        connection.transport.write(self.head)
        self._phases[next(self._next_phase)][connection] = self._events

    def stop(self, connection: "FastConnection") -> None:
        for phase in self._phases:
            phase.pop(connection, None)

    async def run(self) -> None:
        """Ticks until cancelled; a late tick is made up for by the following ones."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        for phase in itertools.cycle(self._phases):
            due += self._period_s
            await asyncio.sleep(due - loop.time())
            self._write_events(phase)

    def _write_events(self, phase: "dict[FastConnection, int]") -> None:
        event = self.event
        self.events_sent += len(phase)
        for connection, left in tuple(phase.items()):
            if left > 1:
                connection.transport.write(event)
                phase[connection] = left - 1
            else:
                connection.transport.write(event + self.tail)
                del phase[connection]


class FastConnection(asyncio.Protocol):
    """One connection; the next request is read only after a stream's end."""

    transport: asyncio.Transport

    def __init__(self, engine: "FastEngine") -> None:
        self._engine = engine
        self._target = b""
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.transport.write(counted(400, b"{}"))
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._engine.clock.stop(self)

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        target, body, self._target, self._body = self._target, self._body, b"", b""
        engine = self._engine
        if self._parser.get_method() == b"GET":
            self.transport.write(engine.get(target))
        elif STREAM.search(body):
            engine.requests += 1
            engine.clock.start(self)
        else:
            engine.requests += 1
            self.transport.write(engine.answer)


class FastEngine:
    """The canned bytes, the clock of the streams, and the counts that `/stats` shows."""

    def __init__(self, *, rate: float, events: int) -> None:
        self.requests = 0
        self.clock = StreamClock(rate=rate, events=events)
        self.answer = counted(200, json_bytes(chat_completion(ANSWER, model="fast")))
        card = {"id": "fast", "object": "model", "owned_by": "proa"}
        self._pages = {
            b"/health": counted(200, b'{"status":"ok"}'),
            b"/v1/models": counted(200, json_bytes({"object": "list", "data": [card]})),
        }
        self._missing = counted(404, b'{"detail":"Not Found"}')

    def get(self, target: bytes) -> bytes:
        if target == b"/stats":
            return counted(200, json.dumps(self.stats()).encode())
        return self._pages.get(target, self._missing)

    def stats(self) -> dict[str, int]:
        return {
            "requests": self.requests,
            "streams": self.clock.streams,
            "events": self.clock.events_sent,
        }

    def connection(self) -> FastConnection:
        return FastConnection(self)


async def serve(engine: FastEngine, *, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; prints the address when it listens."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    server = await loop.create_server(engine.connection, host, port, backlog=4096)
    clock = asyncio.create_task(engine.clock.run())
    print(f"http://{host}:{server.sockets[0].getsockname()[1]}", flush=True)
    await ended.wait()
    clock.cancel()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proa.testing.fast_engine")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--rate", type=float, default=100.0, help="events a second per stream")
    parser.add_argument("--events", type=int, default=500, help="events per stream")
    arguments = parser.parse_args()
    engine = FastEngine(rate=arguments.rate, events=arguments.events)
    uvloop.run(serve(engine, host=arguments.host, port=arguments.port))


if __name__ == "__main__":
    main()
