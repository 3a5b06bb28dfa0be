"""Streams of one API relayed in another's: pieces, usage, cuts, errors in band."""

import asyncio
import json

import pytest
from tests.gateway.foreign import (
    CHAT,
    MESSAGES,
    TGI_STREAM,
    always,
    ask,
    by_path,
    client,
    decoded,
    spec,
    tgi_event,
    triton_events,
    triton_stream,
)
from tests.gateway.harness import serving

from proa.domain.fleet import EngineKind
from proa.telemetry.rows import Engine
from proa.testing.replies import Framing, body_reply, event_bytes, json_reply, sse_reply
from proa.testing.steps import Close, Stall, WaitFor


async def test_a_stream_on_triton() -> None:
    async with always(triton_stream()) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(stream=True))
        assert answer.status == 200
        assert answer.header("content-type") == "text/event-stream"
        assert answer.body.data.endswith(b"data: [DONE]\n\n")
        assert engine.requests[0].target == "/v2/models/scripted/generate_stream"
        await gateway.until_idle()
        assert [record.outcome for record in gateway.records] == ["ok"]
        assert gateway.histogram("main", Engine.TTFT_BUCKET) == 1


async def test_the_first_piece_goes_out_before_the_second_is_there() -> None:
    go = asyncio.Event()
    first, second = map(event_bytes, triton_events("a ", "b"))
    reply = body_reply(
        [first, WaitFor(go), second], content_type="text/event-stream", framing=Framing.CHUNKED
    )
    async with always(reply) as engine, serving(spec(engine)) as gateway:
        texts = []
        async for event in await client(gateway).chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "hi"}], stream=True
        ):
            if event.choices[0].delta.content:
                texts.append(event.choices[0].delta.content)
                go.set()
        assert texts == ["a ", "b"]


async def test_usage_of_a_stream_is_accounted_and_told_where_asked() -> None:
    tgi = by_path(generate_stream=TGI_STREAM)
    async with tgi, serving(spec(tgi, EngineKind.TGI, lacks=(CHAT,))) as gateway:
        events = [
            event
            async for event in await client(gateway).chat.completions.create(
                model="scripted",
                messages=[{"role": "user", "content": "hi"}],
                stream=True,
                stream_options={"include_usage": True},
            )
        ]
        assert [e.choices[0].delta.content for e in events if e.choices] == ["", "a ", "b", None]
        assert events[-2].choices[0].finish_reason == "stop"
        assert events[-1].usage is not None
        assert events[-1].usage.total_tokens == 7
        await gateway.until_idle()
        assert gateway.engine("main", Engine.PROMPT_TOKENS) == 5
        assert gateway.engine("main", Engine.COMPLETION_TOKENS) == 2


async def test_estimates_are_not_accounted() -> None:
    async with always(triton_stream()) as engine, serving(spec(engine)) as gateway:
        await gateway.ask(ask(MESSAGES, stream=True))
        await gateway.until_idle()
        assert gateway.engine("main", Engine.PROMPT_TOKENS) == 0
        assert gateway.engine("main", Engine.COMPLETION_TOKENS) == 0


async def test_the_clients_close_cancels_the_engine() -> None:
    first = event_bytes(triton_events("a ")[0])
    reply = body_reply([first, Stall()], content_type="text/event-stream", framing=Framing.CHUNKED)
    async with always(reply) as engine, serving(spec(engine)) as gateway:
        async with gateway.client() as raw:
            await raw.send(ask(stream=True))
            await raw.read_head()
            await raw.read_until(b'"a "')
        await gateway.until_idle()
        await engine.wait_aborted(1)
        assert gateway.records[0].outcome == "cancelled"


async def test_a_stream_that_is_cut_ends_with_an_error() -> None:
    first = event_bytes(triton_events("a ")[0])
    reply = body_reply([first, Close()], content_type="text/event-stream", framing=Framing.CHUNKED)
    async with always(reply) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(stream=True))
        assert b'"error"' in answer.body.data
        assert b"[DONE]" not in answer.body.data
        await gateway.until_idle()
        assert gateway.records[0].outcome == "broken"


async def test_tgi_without_its_details_was_cut() -> None:
    tgi = by_path(generate_stream=sse_reply([tgi_event("a ")], done=False))
    async with tgi, serving(spec(tgi, EngineKind.TGI, lacks=(CHAT,))) as gateway:
        answer = await gateway.ask(ask(stream=True))
        assert b"ended the stream early" in answer.body.data
        assert b"[DONE]" not in answer.body.data


async def test_an_error_in_a_stream_is_told_in_the_clients_api() -> None:
    reply = triton_stream(*triton_events("a "), {"error": "backend died"}, *triton_events("b"))
    async with always(reply) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(stream=True))
        events = answer.body.data.split(b"\n\n")
        error = json.loads(events[-2].removeprefix(b"data: "))["error"]
        assert error["message"] == "backend died"
        assert b"[DONE]" not in answer.body.data
        answer = await gateway.ask(ask(MESSAGES, stream=True))
        name, data = answer.body.data.split(b"\n\n")[-2].split(b"\n")
        assert name == b"event: error"
        assert json.loads(data.removeprefix(b"data: "))["error"]["message"] == "backend died"


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
async def test_an_overload_as_first_event_has_its_status(path: str) -> None:
    full = triton_stream({"error": "[request id: 1] Exceeds maximum queue size"})
    async with always(full) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(path, stream=True))
        assert answer.status == 503
        assert decoded(answer)["error"]["message"].endswith("Exceeds maximum queue size")
        assert ("type" in decoded(answer)) is (path == MESSAGES)
        assert gateway.records[0].outcome == "busy"


async def test_an_error_after_a_heartbeat_is_an_event_with_its_message() -> None:
    go = asyncio.Event()
    full = json_reply({"error": "Exceeds maximum queue size"}, status=503)
    engine = always(full.preceded_by(WaitFor(go)))
    async with engine, serving(spec(engine), heartbeat_s=1.0) as gateway, gateway.client() as raw:
        await raw.send(ask(stream=True))
        await engine.wait_requests(1)
        gateway.advance(1.5)
        await raw.read_until(b": waiting for the engine")
        go.set()
        event = (await raw.read_until_end()).split(b"data: ")[1].split(b"\n\n")[0]
        assert json.loads(event)["error"]["message"] == "Exceeds maximum queue size"


async def test_events_that_are_no_answer_are_a_fault() -> None:
    async with always(triton_stream("oops")) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(stream=True))
        assert answer.status == 502
        assert decoded(answer)["error"]["message"] == "oops"


async def test_an_event_without_an_end_is_not_held_for_ever() -> None:
    endless = body_reply(
        [b"data: ", *[b"x" * 65_536] * 20], content_type="text/event-stream",
        framing=Framing.CHUNKED,
    )  # fmt: skip
    async with always(endless) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(stream=True))
        assert answer.status == 502
        assert "without an end" in decoded(answer)["error"]["message"]
