"""Servers in a thread, for verbs that take the main thread's event loop."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from proa.bench.paced_server import Pace, PacedServer
from proa.bench.stamped_socket import StampedListener
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply

Protocols = Callable[[], asyncio.BaseProtocol]


@contextmanager
def serving(protocol: Protocols) -> Iterator[str]:
    """host:port of what makes a protocol for each connection."""
    loop = asyncio.new_event_loop()
    listener = loop.run_until_complete(loop.create_server(protocol, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        listener.close()
        loop.close()


@contextmanager
def paced(told: Pace | PacedServer) -> Iterator[str]:
    """host:port of a server that streams at this pace."""
    server = told if isinstance(told, PacedServer) else PacedServer(told)
    loop = asyncio.new_event_loop()

    async def listen() -> StampedListener:
        return server.listen()

    async def close() -> None:
        listener.close()

    listener = loop.run_until_complete(listen())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.port}"
    finally:
        asyncio.run_coroutine_threadsafe(close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class InterruptingServer(PacedServer):
    """Sends Ctrl-C to this process when its n-th request begins."""

    def __init__(self, pace: Pace, *, at: int) -> None:
        super().__init__(pace)
        self._at = at
        self._sent = False

    def schedule(self, at_s: float, connection: object) -> None:
        if self.requests == self._at and not self._sent:
            self._sent = True
            os.kill(os.getpid(), signal.SIGINT)
        super().schedule(at_s, connection)  # type: ignore[arg-type]


@contextmanager
def answering(answer: Callable[[str], Reply | str]) -> Iterator[str]:
    """A chat server that answers each prompt with a text, or with a reply."""

    def script(request: ReceivedRequest) -> Reply:
        body = json.loads(bytes(request.body))
        told = answer(body["messages"][-1]["content"])
        if isinstance(told, Reply):
            return told
        tokens = [{"token": letter, "logprob": -0.1} for letter in told]
        choice = {
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": told},
            "logprobs": {"content": tokens} if body.get("logprobs") else None,
        }  # fmt: skip
        usage = {"prompt_tokens": 9, "completion_tokens": len(told)}
        return json_reply({"choices": [choice], "usage": usage})

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def entered() -> ScriptedEngine:
        return await ScriptedEngine(script).__aenter__()

    engine = asyncio.run_coroutine_threadsafe(entered(), loop).result()
    try:
        yield engine.url.removeprefix("http://")
    finally:
        left = engine.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(left, loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
