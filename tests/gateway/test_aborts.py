"""Ten thousand clients that leave at random: nothing stays behind."""

import asyncio
import gc
import random
from collections import Counter

from tests.gateway.harness import Gateway, descriptors, key_spec, serving

from proa.domain.outcome import Outcome
from proa.gateway.attempt import Attempt
from proa.gateway.connection import ClientConnection
from proa.gateway.exchange import Exchange
from proa.gateway.settings import LimitsSettings
from proa.gateway.upstream import UpstreamConnection
from proa.telemetry.rows import Header
from proa.testing.raw_client import RawClient
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
    """One client: sends a part or all, reads a part or nothing, and goes."""
    request = dice.choice(REQUESTS)
    if dice.random() < 0.3:
        request = request[: dice.randrange(len(request))]
    async with gateway.client() as client:
        sending = asyncio.ensure_future(send(client, request))
        if len(request) < 50_000:
            await sending
        for _ in range(dice.choice((0, 0, 1, 3, 10, 30))):
            await asyncio.sleep(0)
        dice.choice((RawClient.half_close, RawClient.close, RawClient.reset))(client)
        sending.cancel()
        for _ in range(dice.choice((0, 1, 5))):
            await asyncio.sleep(0)


async def send(client: RawClient, request: bytes) -> None:
    try:
        await client.send(request)
    except OSError:
        return  # refused and closed while it was sent


async def leave_often(gateway: Gateway, times: int, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(times):
        await leave_somewhere(gateway, dice)


async def sweep_often(gateway: Gateway) -> None:
    while True:
        gateway.advance(0.01)
        for _ in range(20):
            await asyncio.sleep(0)


async def test_ten_thousand_aborts_leave_nothing_behind() -> None:
    """Counters zero, no descriptor, no task, no object, without the garbage collector's help."""
    dice = random.Random(4)

    def script(_: ReceivedRequest) -> Reply:
        return dice.choice(REPLIES)

    limits = LimitsSettings(max_body_bytes=200_000, body_budget_bytes=400_000)
    keys = (key_spec("team", "secret", max_concurrent_requests=40),)
    async with (
        ScriptedEngine(script) as main,
        ScriptedEngine(script) as aux,
        serving(main, aux, limits=limits, keys=keys) as gateway,
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
        assert gateway.header(Header.ACCEPTED) == 10_050
        await gateway.until(lambda: not descriptors() - before, "closed descriptors")
        await gateway.until(lambda: asyncio.all_tasks() == tasks, "end of all tasks")
        assert (main.running, aux.running) == (0, 0)
        ends = Counter(record.outcome for record in gateway.records)
        assert ends["cancelled"] > 1000
        assert all(ends[outcome.label] for outcome in Outcome if outcome is not Outcome.NOT_READY)


async def settled(gateway: Gateway) -> None:
    """Everything has ended; pooled connections are closed."""
    await gateway.until_swept(lambda: not any(gateway.gauges().values()), "clear gauges")
    gateway.advance(60.0)
