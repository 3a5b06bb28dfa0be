"""A hop that delays by as much as it was told and knows how much it truly did.

    python -m proa.testing.delay_proxy http://127.0.0.1:8000 --request 0.0003 --event 0.00001

It passes bytes, one upstream connection for each of the client's. `--request` is waited before
a request goes on, `--event` before each event of the answer; both actively, as timers are too
coarse for them. `--hold` keeps events back and passes so many at once; 0 passes all at the
end, as a buffering proxy does. At its end it prints the truth as JSON.
"""

import argparse
import asyncio
import json
import signal
import time
from statistics import median
from typing import cast
from urllib.parse import urlsplit

import msgspec
import uvloop

_EVENT = b"data: "
_LAST = b"\r\n0\r\n\r\n"


class Hop(msgspec.Struct, kw_only=True):
    """What it does, and the truth of what it did: each wait, in seconds."""

    host: str
    port: int
    request_s: float = 0.0
    event_s: float = 0.0
    hold: int = 1
    events: int = 0
    request_waits_s: list[float] = []
    event_waits_s: list[float] = []

    def truth(self) -> dict[str, float]:
        """Counts, and the median wait before a request and before an event."""
        return {
            "requests": len(self.request_waits_s),
            "events": self.events,
            "request_s": median(self.request_waits_s or [0.0]),
            "event_s": median(self.event_waits_s or [0.0]),
        }


def waited(seconds: float) -> float:
    """Wait without giving up the CPU; returns how long it truly took."""
    begun_s = time.perf_counter()
    while time.perf_counter() - begun_s < seconds:
        pass
    return time.perf_counter() - begun_s


class ClientSide(asyncio.Protocol):
    """A client's connection; bytes that come before the upstream is there wait for it."""

    transport: asyncio.Transport

    def __init__(self, hop: Hop) -> None:
        self._hop = hop
        self._up: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        hop = self._hop
        try:
            up, _ = await asyncio.get_running_loop().create_connection(
                lambda: EngineSide(hop, self.transport), hop.host, hop.port
            )
        except OSError:
            self.transport.close()
            return
        self._up = up
        for data in self._early:
            up.write(data)

    def data_received(self, data: bytes) -> None:
        self._hop.request_waits_s.append(waited(self._hop.request_s))
        if self._up is None:
            self._early.append(data)
        else:
            self._up.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._up is not None:
            self._up.close()


class EngineSide(asyncio.Protocol):
    """The upstream connection of one client."""

    def __init__(self, hop: Hop, client: asyncio.Transport) -> None:
        self._hop = hop
        self._client = client
        self._held: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        hop = self._hop
        events = data.count(_EVENT)
        hop.events += events
        if events and hop.event_s:
            hop.event_waits_s.append(waited(hop.event_s * events) / events)
        self._held.append(data)
        held = sum(piece.count(_EVENT) for piece in self._held)
        whole = not events or data.endswith(_LAST)
        if whole or (hop.hold and held >= hop.hold):
            self._client.write(b"".join(self._held))
            self._held.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._client.is_closing():
            self._client.write(b"".join(self._held))
            self._client.close()


async def serve(hop: Hop, *, port: int) -> None:
    """Until SIGTERM."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    listener = await loop.create_server(lambda: ClientSide(hop), "127.0.0.1", port)
    print(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", flush=True)
    await ended.wait()
    listener.close()
    print(json.dumps(hop.truth()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proa.testing.delay_proxy")
    parser.add_argument("upstream", metavar="URL")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--request", type=float, default=0.0, help="seconds before a request")
    parser.add_argument("--event", type=float, default=0.0, help="seconds before an event")
    parser.add_argument("--hold", type=int, default=1, help="events at once; 0: all at the end")
    args = parser.parse_args()
    parts = urlsplit(args.upstream)
    hop = Hop(
        host=parts.hostname or "127.0.0.1", port=parts.port or 80, request_s=args.request,
        event_s=args.event, hold=args.hold,
    )  # fmt: skip
    uvloop.run(serve(hop, port=args.port))


if __name__ == "__main__":
    main()
