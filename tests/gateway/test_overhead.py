"""Large requests, many streams, closed networks: nothing waits for anything but the engine.

Times here are bounds that only a constant wait or a blocked loop can break; the
added latency itself is measured by `benchmarks`.
"""

import asyncio
import json
import os
import socket
import time
from pathlib import Path
from typing import NoReturn

import pytest
from tests.gateway.harness import Gateway, engine_spec, serving

from proa.domain.fleet import EngineKind
from proa.routing.spec import MatchSpec, RouteSpec, RoutingSpec
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import Framing, json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import WaitFor

STREAM = json_request({"model": "scripted", "stream": True})
EVENT = {"choices": [{"index": 0, "delta": {"content": "word"}}]}
SHORT = RouteSpec(name="short", match=MatchSpec(max_input_tokens=50), prefer=("aux",))
REST = RouteSpec(name="rest", prefer=("main",))
TOOL = {"type": "function", "function": {"name": "f", "description": "말로 하는 설명 " * 50}}


def tools_body(size: int) -> bytes:
    """A chat with at least `size` bytes of tool descriptions."""
    tools = [TOOL] * (size // len(json.dumps(TOOL, ensure_ascii=False).encode()) + 1)
    messages = [{"role": "user", "content": "hello"}]
    value = {"model": "scripted", "messages": messages, "tools": tools}
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize("broken", [False, True])
async def test_a_megabyte_of_tools_is_routed_and_served(broken: bool) -> None:
    """G99: https://github.com/ai-dynamo/dynamo/issues/13830"""
    body = tools_body(1_000_000)[: -1 if broken else None]
    routing = RoutingSpec(routes=(SHORT, REST))
    async with (
        ScriptedEngine([json_reply({})]) as main,
        ScriptedEngine([json_reply({})]) as aux,
        serving(main, aux, routing=routing) as gateway,
    ):
        started_s = time.monotonic()
        answer = await gateway.ask(request_bytes("/v1/chat/completions", body))
        assert answer.status == 200
        assert time.monotonic() - started_s < 2.0
        (request,) = main.requests + aux.requests
        assert bytes(request.body) == body
        if broken:  # its tokens are not known: no rule about tokens holds
            assert main.requests == [request]


async def test_a_long_prompt_is_counted_in_time() -> None:
    routing = RoutingSpec(routes=(SHORT, REST))
    text = "가나다 라마바 사아자 차카타 파하. " * 25_000
    body = json.dumps({"model": "scripted", "prompt": text}, ensure_ascii=False).encode()
    async with ScriptedEngine() as main, ScriptedEngine() as aux:
        async with serving(main, aux, routing=routing) as gateway:
            started_s = time.monotonic()
            await gateway.ask(request_bytes("/v1/completions", body))
            assert time.monotonic() - started_s < 2.0
        assert (len(main.requests), len(aux.requests)) == (1, 0)


def peers() -> set[str]:
    """The other ends of this process's TCP connections, IPv4 hex address or "v6"."""
    mine = {
        os.readlink(f"/proc/self/fd/{name}")
        for name in os.listdir("/proc/self/fd")
        if is_open(name)
    }
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    found = {row[2].split(":")[0] for row in rows if f"socket:[{row[9]}]" in mine}
    rows = [line.split() for line in Path("/proc/self/net/tcp6").read_text().splitlines()[1:]]
    return found | {"v6" for row in rows if f"socket:[{row[9]}]" in mine}


def is_open(name: str) -> bool:
    return Path(f"/proc/self/fd/{name}").is_symlink()


async def test_a_closed_network_adds_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """G101: https://github.com/BerriAI/litellm/issues/26699"""

    def resolve(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a name was looked up")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    gate = asyncio.Event()
    reply = sse_reply(
        [{"text_output": "a"}, WaitFor(gate), {"text_output": "b"}],
        done=False,
        framing=Framing.CHUNKED,
    )
    async with ScriptedEngine([reply]) as engine:
        spec = engine_spec(engine, "main", kind=EngineKind.TRITON)
        async with serving(spec) as gateway, gateway.client() as client:
            started_s = time.monotonic()
            await client.send(
                request_bytes("/v2/models/scripted/generate_stream", b'{"text_input":"x"}')
            )
            assert (await client.read_head()).status == 200
            assert await client.read_chunk() == b'data: {"text_output":"a"}\n\n'
            assert time.monotonic() - started_s < 1.0
            assert peers() <= {"0100007F", "00000000"}  # loopback, and listening sockets
            gate.set()
            assert await client.read_chunk() == b'data: {"text_output":"b"}\n\n'
        assert (engine.connections_made, len(engine.requests)) == (1, 1)


async def test_256_streams_move_at_once() -> None:
    """G102: https://github.com/gpustack/gpustack/issues/1842"""
    count = 256
    gate, more = asyncio.Event(), asyncio.Event()
    started: list[int] = []

    async def stream(gateway: Gateway) -> bytes:
        async with gateway.client(timeout_s=20.0) as client:
            await client.send(STREAM)
            head = await client.read_head()
            assert head.status == 200
            first = await client.read_chunk()
            started.append(1)
            if len(started) == count:
                more.set()  # every stream has its first event while all others are open
            return first + (await client.read_body(head)).data

    reply = sse_reply([EVENT, WaitFor(gate), *[EVENT] * 20])
    async with ScriptedEngine(lambda _: reply) as engine, serving(engine) as gateway:
        streams = [asyncio.ensure_future(stream(gateway)) for _ in range(count)]
        async with asyncio.timeout(10.0):
            await more.wait()
        assert engine.running == engine.peak_running == count
        gate.set()
        bodies = await asyncio.gather(*streams)
        assert len(set(bodies)) == 1
        assert bodies[0].count(b"word") == 21
        assert bodies[0].endswith(b"data: [DONE]\n\n")
        await gateway.until_idle()
