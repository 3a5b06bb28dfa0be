"""Ten thousand clients that leave at random: nothing stays behind."""

import asyncio
import gc
import random
import socket
import struct
from collections import Counter
from urllib.parse import urlsplit

import pytest
from tests.gateway.harness import Gateway, descriptors, engine_spec, key_spec, serving

from proa.domain.outcome import Outcome
from proa.gateway.attempt import Attempt
from proa.gateway.connection import ClientConnection
from proa.gateway.exchange import Exchange
from proa.gateway.settings import LimitsSettings
from proa.gateway.upstream import UpstreamConnection
from proa.telemetry.rows import Header
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.received import ReceivedRequest
from proa.testing.replies import Framing, body_reply, json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply, Reset, Send, Stall

KEY = ("authorization", "Bearer secret")
EVENT = {"choices": [{"index": 0, "delta": {"content": "word"}}]}
REPLIES = (
    json_reply({"ok": True}),
    json_reply({"error": {"message": "full"}}, status=503),
    json_reply({"error": {"message": "bad"}}, status=400),
    sse_reply([EVENT] * 5),
    sse_reply([EVENT, EVENT, Stall()]),
    sse_reply([EVENT, Reset()]),
    sse_reply([EVENT, Close()]),
    body_reply([Send(b"x" * 1000, times=400)], framing=Framing.CHUNKED),
    body_reply([b"until the end"], framing=Framing.UNTIL_CLOSE),
    Reply((Stall(),)),
    Reply((Stall(),)),
    Reply((Reset(),)),
    Reply((Close(),)),
)
CHUNKED = request_bytes("/v1/completions", headers=[KEY], chunks=[b'{"model":', b'"scripted"}'])
REQUESTS = (
    json_request({"model": "scripted"}, headers=[KEY]),
    json_request({"model": "scripted", "stream": True}, headers=[KEY]),
    json_request({"model": "scripted"}),  # no key
    json_request({"model": "scripted"}, headers=[KEY]) * 3,
    CHUNKED,
    CHUNKED * 2,
    request_bytes("/v1/completions", b"x" * 100_000, headers=[KEY]),
    request_bytes("/v1/completions", b"x" * 300_000, headers=[KEY]),  # above the limit
    request_bytes("/v1/models", method="GET", headers=[KEY]),
    b"GARBAGE\r\n\r\n",
)
KINDS = (ClientConnection, Exchange, Attempt, UpstreamConnection)


def alive() -> Counter[str]:
    """How many objects of the data plane exist."""
    return Counter(type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, KINDS))


async def leave_somewhere(gateway: Gateway, dice: random.Random) -> None:
    """One client: sends a part or all, waits a while or not, and goes.

    A transport, because the loop would go on watching a bare socket's descriptor
    for a moment after its close, when it may be another connection's already.
    """
    request = dice.choice(REQUESTS)
    if dice.random() < 0.3:
        request = request[: dice.randrange(len(request))]
    url = urlsplit(gateway.url)
    loop = asyncio.get_running_loop()
    client, _ = await loop.create_connection(asyncio.Protocol, str(url.hostname), url.port or 0)
    client.write(request)
    await turns(dice.choice((0, 1, 3, 10, 30, 100, 300)))
    dice.choice(LEAVES)(client)
    await turns(dice.choice((0, 1, 5)))
    client.abort()


def half_close(client: asyncio.Transport) -> None:
    if not client.is_closing():
        client.write_eof()


def reset(client: asyncio.Transport) -> None:
    if not client.is_closing():
        sock: socket.socket = client.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.abort()


def close(client: asyncio.Transport) -> None:
    client.close()


def abort(client: asyncio.Transport) -> None:
    client.abort()


LEAVES = (half_close, reset, close, abort)


async def turns(count: int) -> None:
    """Let the loop turn so often."""
    for _ in range(count):
        await asyncio.sleep(0)


async def leave_often(gateway: Gateway, times: int, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(times):
        await leave_somewhere(gateway, dice)


async def sweep_often(gateway: Gateway) -> None:
    while True:
        gateway.advance(0.01)
        await turns(20)


@pytest.mark.parametrize("cap", [0, 4], ids=["no cap", "most of them wait"])
async def test_ten_thousand_aborts_leave_nothing_behind(cap: int) -> None:
    """Counters zero, no descriptor, no task, no object, without the garbage collector's help."""
    dice = random.Random(4)

    def script(_: ReceivedRequest) -> Reply:
        return dice.choice(REPLIES)

    limits = LimitsSettings(max_body_bytes=200_000, body_budget_bytes=400_000)
    keys = (key_spec("team", "secret", max_concurrent_requests=40),)
    async with (
        ScriptedEngine(script) as main,
        ScriptedEngine(script) as aux,
        serving(
            engine_spec(main, "main", max_concurrent_requests=cap),
            engine_spec(aux, "aux", max_concurrent_requests=cap),
            limits=limits,
            keys=keys,
        ) as gateway,
    ):
        await leave_often(gateway, 50, seed=1)  # imports, tables and pools are there now
        await settled(gateway)
        gc.collect()
        before, tasks = descriptors(), asyncio.all_tasks()
        gc.disable()
        try:
            sweeping = asyncio.ensure_future(sweep_often(gateway))
            await asyncio.gather(*(leave_often(gateway, 250, seed) for seed in range(40)))
            sweeping.cancel()
            await settled(gateway)
            await gateway.until(lambda: not alive(), "end of all exchanges")
        finally:
            gc.enable()
        assert gateway.header(Header.ACCEPTED) > 9_900  # some had gone before
        await gateway.until(lambda: not descriptors() - before, "closed descriptors")
        await gateway.until(lambda: asyncio.all_tasks() == tasks, "end of all tasks")
        assert (main.running, aux.running) == (0, 0)
        ends = Counter(record.outcome for record in gateway.records)
        assert ends["cancelled"] > 1000
        assert any(record.queued_ms for record in gateway.records) is bool(cap)
        assert all(ends[outcome.label] for outcome in Outcome if outcome is not Outcome.NOT_READY)


async def settled(gateway: Gateway) -> None:
    """Everything has ended; pooled connections are closed."""
    await gateway.until_swept(lambda: not any(gateway.gauges().values()), "clear gauges")
    gateway.advance(60.0)
