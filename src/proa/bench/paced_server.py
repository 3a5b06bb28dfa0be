"""A server that streams at a chosen pace and logs when it truly wrote: the bench's own gauge.

    python -m proa.bench.paced_server --ttft 0.1 --gap 0.02 --curve 24:0.0333,32:0.0555

Any POST gets a chat stream of `max_tokens` single tokens; each event's text is the monotonic
time right before its sending, so that a client on this machine can tell how late it stamped it.
When a request arrived is the kernel's word, if it gives one: a late server is not late in its log.
With --curve the gap follows the number of streams in flight, piecewise linear. `/truth` is the log,
`/stats` counts. It costs microseconds a token: no queue, no prefill, no threads.
"""

import argparse
import asyncio
import heapq
import json
import re
import signal
import time
from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from itertools import count, pairwise

import httptools
import msgspec
import uvloop

from proa.bench.stamped_socket import StampedListener, Wire

MAX_TOKENS = re.compile(rb'"max_tokens":\s*(\d{1,9})')
TOKENS_PER_WORD, TEMPLATE_TOKENS = 1.3, 8
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_EVENT = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{%b},%b}]}\n\n'
_USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}\n\n'
_STEP_S = 0.001
_TRUTHS_KEPT = 200_000


def chunked(data: bytes) -> bytes:
    """One chunk of the chunked coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


_ROLE = chunked(_EVENT % (b'"role":"assistant","content":""', b'"finish_reason":null'))
_FINISH = chunked(_EVENT % (b"", b'"finish_reason":"length"'))
_DONE = chunked(b"data: [DONE]\n\n") + chunked(b"")
_REFUSAL_BODY = b'{"error":{"message":"too many requests","type":"rate_limit_error"}}'
_REFUSAL = (
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_REFUSAL_BODY), _REFUSAL_BODY)
)


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How it answers. `curve` is (streams in flight, gap) and overrides `gap_s`.

    `role_s` is when the role-only event goes out. More than `refuse_above` get a 429.
    """

    ttft_s: float = 0.0
    gap_s: float = 0.02
    role_s: float = 0.0
    tokens: int = 100
    curve: tuple[tuple[int, float], ...] = ()
    refuse_above: int | None = None

    def gap_at(self, streams: int) -> float:
        """Seconds between two tokens with so many streams."""
        points = self.curve
        if not points:
            return self.gap_s
        if streams <= points[0][0]:
            return points[0][1]
        for (low, gap_low), (high, gap_high) in pairwise(points):
            if streams <= high:
                return gap_low + (gap_high - gap_low) * (streams - low) / (high - low)
        return points[-1][1]


class Truth(msgspec.Struct, array_like=True):
    """One answer as it was written; `prompt` is the body's hash."""

    prompt: str
    arrived_s: float
    first_s: float = 0.0
    last_s: float = 0.0
    tokens: int = 0


class PacedServer:
    """All streams share one heap of what is due; it wakes when something is, at most every ms."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.truths: deque[Truth] = deque(maxlen=_TRUTHS_KEPT)
        self.requests = self.refused = self.streams = self.most_streams = self.events = 0
        self._due: list[tuple[float, int, _Connection]] = []
        self._order = count()
        self._is_armed = False

    def listen(self, host: str = "127.0.0.1", port: int = 0) -> StampedListener:
        """Serve on the running loop. Raises OSError: the address cannot be taken."""
        return StampedListener(host, port, lambda: _Connection(self))

    def schedule(self, at_s: float, connection: "_Connection") -> None:
        heapq.heappush(self._due, (at_s, next(self._order), connection))
        if not self._is_armed:
            self._is_armed = True
            self._arm()

    def stats(self) -> dict[str, int]:
        return {
            "requests": self.requests,
            "refused": self.refused,
            "streams": self.streams,
            "most_streams": self.most_streams,
            "events": self.events,
        }

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        delay_s = max(_STEP_S, self._due[0][0] - time.monotonic())
        # Not from the timer itself: a chain of timers can keep libuv from its sockets.
        loop.call_later(delay_s, loop.call_soon, self._write_due)

    def _write_due(self) -> None:
        now_s = time.monotonic()
        due = self._due
        while due and due[0][0] <= now_s:
            at_s, _, connection = heapq.heappop(due)
            connection.write_next(at_s)
        self._is_armed = bool(due)
        if due:
            self._arm()


class _Connection:
    """One connection; pipelining is not expected."""

    transport: Wire

    def __init__(self, server: PacedServer) -> None:
        self._server = server
        self._truth: Truth | None = None
        self._left = 0
        self._arrived_s = 0.0
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._body: list[bytes] = []

    def connection_made(self, wire: Wire) -> None:
        self.transport = wire

    def connection_lost(self, exc: Exception | None) -> None:
        if self._truth is not None:
            self._truth = None
            self._server.streams -= 1

    def arrived(self, data: bytes, at_s: float) -> None:
        self._arrived_s = at_s
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.transport.close()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_method() == b"GET":
            self._page(self._url)
        else:
            self._begin(b"".join(self._body), self._arrived_s)
        self._url, self._body = b"", []

    def _page(self, url: bytes) -> None:
        server = self._server
        pages: dict[bytes, Callable[[], object]] = {
            b"/v1/models": lambda: {"object": "list", "data": [{"id": "paced", "object": "model"}]},
            b"/health": lambda: {"status": "ok"},
            b"/stats": server.stats,
            b"/truth": lambda: msgspec.to_builtins(list(server.truths)),
        }
        page = pages.get(url)
        status = b"404 Not Found" if page is None else b"200 OK"
        body = json.dumps(page() if page else {}).encode()
        head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self.transport.write(head % (status, len(body)) + body)

    def _begin(self, body: bytes, arrived_s: float) -> None:
        server, pace = self._server, self._server.pace
        server.requests += 1
        if pace.refuse_above is not None and server.streams >= pace.refuse_above:
            server.refused += 1
            self.transport.write(_REFUSAL)
            return
        asked = MAX_TOKENS.search(body)
        self._left = int(asked[1]) if asked else pace.tokens
        words = body.count(b" ") + 1
        self._prompt_tokens = round(TOKENS_PER_WORD * words) + TEMPLATE_TOKENS
        self._truth = Truth(blake2b(body, digest_size=8).hexdigest(), arrived_s)
        server.streams += 1
        server.most_streams = max(server.most_streams, server.streams)
        self._has_role = False
        server.schedule(arrived_s + min(pace.role_s, pace.ttft_s), self)

    def write_next(self, due_s: float) -> None:
        """Write what is due: the role, a token, or the last one with the end."""
        truth, server = self._truth, self._server
        if truth is None:
            return
        if not self._has_role:
            self._has_role = True
            self.transport.write(_HEAD + _ROLE)
            server.schedule(truth.arrived_s + server.pace.ttft_s, self)
            return
        now_s = time.monotonic()
        data = chunked(_EVENT % (b'"content":"%.6f "' % now_s, b'"finish_reason":null'))
        truth.tokens += 1
        truth.last_s = now_s
        truth.first_s = truth.first_s or now_s
        server.events += 1
        self._left -= 1
        if self._left > 0:
            self.transport.write(data)
            server.schedule(due_s + server.pace.gap_at(server.streams), self)
            return
        usage = chunked(_USAGE % (self._prompt_tokens, truth.tokens))
        server.truths.append(truth)
        server.streams -= 1
        self._truth = None
        self.transport.write(data + _FINISH + usage + _DONE)


async def serve(server: PacedServer, *, host: str, port: int) -> None:
    """Serve until SIGTERM, or until standard input ends where it is a pipe."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    listener = server.listen(host, port)
    print(f"http://{host}:{listener.port}", flush=True)
    await ended.wait()
    listener.close()


def parse_curve(text: str) -> tuple[tuple[int, float], ...]:
    """`"24:0.033,32:0.055"` as points in rising order."""
    pairs = (part.split(":") for part in text.split(",") if part)
    return tuple(sorted((int(streams), float(gap)) for streams, gap in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proa.bench.paced_server")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--ttft", type=float, default=0.0, help="seconds to the first token")
    parser.add_argument("--role", type=float, default=0.0, help="seconds to the role-only event")
    parser.add_argument("--gap", type=float, default=0.02, help="seconds between tokens")
    parser.add_argument("--tokens", type=int, default=100, help="where max_tokens is not given")
    parser.add_argument("--curve", type=parse_curve, default=(), help="STREAMS:GAP,…")
    parser.add_argument("--refuse-above", type=int, help="streams; others get a 429")
    args = parser.parse_args()
    pace = Pace(
        ttft_s=args.ttft, role_s=args.role, gap_s=args.gap, tokens=args.tokens,
        curve=args.curve, refuse_above=args.refuse_above,
    )  # fmt: skip
    uvloop.run(serve(PacedServer(pace), host=args.host, port=args.port))


if __name__ == "__main__":
    main()
