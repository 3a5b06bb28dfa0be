"""Each event is forwarded before the next one exists (G21): the engine waits for the client."""

import asyncio

import pytest
from tests.gateway.apis import APIS, CHAT, StreamingApi
from tests.gateway.harness import serving

from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request
from proa.testing.replies import Framing, body_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Send, Step, WaitFor

LINE_ENDS = (b"\n", b"\r\n", b"\r")


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


def in_lockstep(events: list[bytes]) -> tuple[list[bytes | Step], list[asyncio.Event]]:
    """The events with a gate after each, which the test opens when the event has arrived."""
    gates = [asyncio.Event() for _ in events]
    parts: list[bytes | Step] = []
    for event, gate in zip(events, gates, strict=True):
        parts += [Send(event), WaitFor(gate)]
    return parts, gates


async def read_bytes(client: RawClient, count: int) -> bytes:
    got = b""
    while len(got) < count:
        got += await client.read_chunk()
    return got


@pytest.mark.parametrize("framing", [Framing.CHUNKED, Framing.UNTIL_CLOSE, Framing.COUNTED])
@pytest.mark.parametrize("api", APIS.values(), ids=APIS)
async def test_every_event_from_the_first_content_on(api: StreamingApi, framing: Framing) -> None:
    start = b"".join((*api.preamble, api.content[0]))
    events = [start, *api.content[1:], *api.ending]
    parts, gates = in_lockstep(events)
    engine = always(api.reply(*parts, framing=framing))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(api.request)
        await client.read_head()
        for event, gate in zip(events, gates, strict=True):
            assert await read_bytes(client, len(event)) == event
            gate.set()
        assert await client.read_chunk() == b""


@pytest.mark.parametrize("line_end", LINE_ENDS, ids=["LF", "CRLF", "CR"])
async def test_small_events_of_every_line_end(line_end: bytes) -> None:
    reply = sse_reply(
        [{"choices": [{"index": 0, "delta": {"content": str(i)}}]} for i in range(100)],
        line_end=line_end,
    )
    events = [step.data for step in reply.steps[1:-1] if isinstance(step, Send)]
    gates = [asyncio.Event() for _ in events]
    steps: list[Step] = [reply.steps[0]]
    for event, gate in zip(events, gates, strict=True):
        steps += [Send(event), WaitFor(gate)]
    engine = always(Reply((*steps, reply.steps[-1])))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        await client.read_head()
        for event, gate in zip(events, gates, strict=True):
            framed = event.partition(b"\r\n")[2][:-2]
            assert await client.read_chunk() == framed
            gate.set()


async def test_comments_of_20_bytes_are_not_collected() -> None:
    """A read of a fixed size would wait for 8 KiB of heartbeats."""
    beat = b": heartbeat 0000000\n\n"
    parts, gates = in_lockstep([CHAT.content[0], *[beat] * 20, *CHAT.ending])
    engine = always(CHAT.reply(*parts))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        await client.read_head()
        for event, gate in zip([CHAT.content[0], *[beat] * 20], gates, strict=False):
            assert await client.read_chunk() == event
            gate.set()


@pytest.mark.parametrize("framing", Framing)
async def test_pieces_of_any_other_answer(framing: Framing) -> None:
    pieces = [b"[1,", b"2,", b"3]"]
    parts, gates = in_lockstep(pieces)
    engine = always(body_reply(parts, framing=framing))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(json_request({"model": "scripted"}))
        head = await client.read_head()
        for piece, gate in zip(pieces, gates, strict=True):
            got = await (
                client.read_chunk() if head.is_chunked else client.read_exactly(len(piece))
            )
            assert got == piece
            gate.set()


async def test_256_streams_do_not_wait_for_each_other() -> None:
    """All are open at one time; the last to be let go on is read first."""
    gates = [asyncio.Event() for _ in range(256)]
    replies = [CHAT.reply(CHAT.content[0], WaitFor(gate), *CHAT.ending) for gate in gates]
    engine = ScriptedEngine(replies)
    async with engine, serving(engine) as gateway, asyncio.TaskGroup() as group:
        asks = [group.create_task(gateway.ask(CHAT.request)) for _ in gates]
        await engine.wait_running(256)
        for gate in reversed(gates):
            gate.set()
        answers = [await ask for ask in asks]
        expected = b"".join((CHAT.content[0], *CHAT.ending))
        assert {answer.body.data for answer in answers} == {expected}
        assert engine.peak_running == 256
