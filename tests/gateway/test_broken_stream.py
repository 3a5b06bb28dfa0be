"""A stream that breaks after its status: an error event at an event border, never a clean end."""

import asyncio

import pytest
from tests.engines.recorded import recorded
from tests.gateway.apis import APIS, CHAT, TRITON, StreamingApi
from tests.gateway.harness import Gateway, serving
from tests.gateway.routes import MAIN_FIRST

from proa.telemetry.rows import Engine
from proa.testing.raw_response import RawResponse, json_request
from proa.testing.replies import Framing, body_reply, chunk, json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply, Reset, Send, Stall, Step, WaitFor

api_cases = pytest.mark.parametrize("api", APIS.values(), ids=APIS)
marked_cases = pytest.mark.parametrize(
    "api",
    [api for api in APIS.values() if api.has_mark],
    ids=[n for n, a in APIS.items() if a.has_mark],
)
MIB = 1_048_576


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


def assert_broken(
    answer: RawResponse, api: StreamingApi, forwarded: bytes, gateway: Gateway
) -> str:
    """`forwarded`, then one error event, then an end that is none; the event's message."""
    assert answer.status == 200
    assert not answer.body.complete
    data = answer.body.data
    assert data.startswith(forwarded)
    assert b"[DONE]" not in data
    assert gateway.engine("main", Engine.BROKEN_STREAMS) == 1
    assert [record.outcome for record in gateway.records] == ["broken"]
    return api.error_message(data[len(forwarded) :])


@api_cases
@pytest.mark.parametrize("end", [Close(), Reset()], ids=["FIN", "RST"])
async def test_a_cut_stream_ends_in_an_error_event(api: StreamingApi, end: Step) -> None:
    half = api.content[0][:-3]
    engine = always(api.reply(*api.preamble, *api.content, half, end))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(api.request)
        message = assert_broken(answer, api, b"".join((*api.preamble, *api.content)), gateway)
        assert "engine main closed the connection" in message


@marked_cases
@pytest.mark.parametrize("framing", Framing)
async def test_a_clean_end_without_the_mark_is_broken(api: StreamingApi, framing: Framing) -> None:
    engine = always(api.reply(*api.preamble, *api.content, framing=framing))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(api.request)
        assert_broken(answer, api, b"".join((*api.preamble, *api.content)), gateway)


@pytest.mark.parametrize("framing", Framing)
async def test_an_api_without_a_mark_ends_where_its_engine_ends(framing: Framing) -> None:
    engine = always(TRITON.reply(framing=framing))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(TRITON.request)
        assert (answer.body.data, answer.body.complete) == (TRITON.whole, True)


@api_cases
async def test_the_engines_own_error_is_the_last_event(api: StreamingApi) -> None:
    engine = always(api.reply(*api.preamble, *api.content, api.overload, *api.ending))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(api.request)
        forwarded = b"".join((*api.preamble, *api.content, api.overload))
        assert answer.body.data == forwarded
        assert not answer.body.complete
        assert gateway.engine("main", Engine.BROKEN_STREAMS) == 1


async def test_the_recorded_crash_of_vllm() -> None:
    body = recorded("vllm/crash_midstream").body.rstrip(b"\n") + b"\n\n"
    engine = always(body_reply([body], content_type="text/event-stream", framing=Framing.CHUNKED))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.body.data == body.removesuffix(b"data: [DONE]\n\n")
        assert not answer.body.complete
        assert gateway.records[0].outcome == "broken"


async def test_the_connection_ends_with_fin_and_without_the_last_chunk() -> None:
    engine = always(CHAT.reply(*CHAT.content, Reset()))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        raw = await client.read_until_end()
        assert await client.end() == "FIN"
        assert raw.endswith(b"}\n\n\r\n")
        assert b"\r\n0\r\n" not in raw


async def test_an_http_1_0_client_gets_the_error_event_too() -> None:
    engine = always(CHAT.reply(*CHAT.content, Reset()))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request.replace(b"HTTP/1.1", b"HTTP/1.0"))
        head = await client.read_head()
        assert not head.is_chunked
        data = await client.read_until_end()
        forwarded = b"".join(CHAT.content)
        assert data.startswith(forwarded)
        assert "closed the connection" in CHAT.error_message(data[len(forwarded) :])


async def test_a_counted_json_answer_that_is_cut_is_cut_for_the_client() -> None:
    whole = json_reply({"text": "x" * 1000})
    length = len(whole.steps[0].data)  # type: ignore[union-attr]
    engine = always(whole.first_bytes(length + 500, Close()))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(json_request({"model": "scripted"}))
        assert answer.head.content_length == 1011
        assert len(answer.body.data) == 500
        assert not answer.body.complete
        assert gateway.records[0].outcome == "broken"


async def test_a_cut_json_answer_looks_cut_to_http_1_0() -> None:
    """Chunked for us, ended by the connection for the client: only RST tells it."""
    parts = [b'{"text":"' + b"x" * 500]
    reply = body_reply(parts, framing=Framing.CHUNKED)
    engine = always(Reply((*reply.steps[:-1], Reset())))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        request = json_request({"model": "scripted"}).replace(b"HTTP/1.1", b"HTTP/1.0")
        await client.send(request)
        await client.read_head()
        assert await client.read_until_end() in (b"", parts[0])
        assert await client.end() == "RST"


async def test_a_chunked_json_answer_that_is_cut_has_no_last_chunk() -> None:
    reply = json_reply({"text": "x" * 1000}, framing=Framing.CHUNKED)
    engine = always(Reply((*reply.steps[:-1], Close())))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(json_request({"model": "scripted"}))
        assert not answer.body.complete
        assert gateway.records[0].outcome == "broken"


@pytest.mark.parametrize(
    "garbage", [b"zz\r\n", b"5\r\nabcdefgh\r\n", b"-1\r\n"], ids=["size", "overlong", "negative"]
)
async def test_broken_chunks_break_the_stream(garbage: bytes) -> None:
    good = CHAT.reply(*CHAT.content)
    engine = always(Reply((*good.steps[:-1], Send(garbage), Stall())))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert not answer.body.complete
        assert b"malformed answer" in answer.body.data
        assert gateway.records[0].outcome == "broken"


async def test_bytes_after_the_end_close_the_engines_connection() -> None:
    reply = CHAT.reply()
    engine = always(Reply((*reply.steps, Send(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad"))))
    async with engine, serving(engine) as gateway:
        for _ in range(3):
            answer = await gateway.ask(CHAT.request)
            assert (answer.body.data, answer.body.complete) == (CHAT.whole, True)


async def test_a_silent_stream_is_given_up_after_the_stall_time() -> None:
    engine = always(CHAT.reply(*CHAT.content, Stall()))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        await client.read_until(CHAT.content[-1])
        gateway.advance(0.25)
        gateway.advance(59.0)
        assert gateway.in_flight("main") == 1
        gateway.advance(1.1)
        event = await client.read_until(b"\n\n")
        assert b"no answer in time" in event
        assert await client.read_until_end() == b"\r\n"
        await engine.wait_aborted(1)
        assert gateway.records[0].outcome == "broken"


async def test_a_silent_stream_of_an_engine_whose_others_move_is_busy() -> None:
    tick = asyncio.Event()
    silent = CHAT.reply(*CHAT.content, Stall())
    lively = CHAT.reply(CHAT.content[0], WaitFor(tick), CHAT.content[1], Stall())
    engine = ScriptedEngine([silent, lively])
    async with engine, serving(engine) as gateway, gateway.client() as one, gateway.client() as two:
        await one.send(CHAT.request)
        await one.read_until(CHAT.content[-1])
        gateway.advance(0.25)
        await two.send(CHAT.request)
        await two.read_until(CHAT.content[0])
        gateway.advance(59.5)
        tick.set()
        await two.read_until(CHAT.content[1])
        gateway.advance(0.5)
        await one.read_until(b"no answer in time")
        await gateway.until(lambda: len(gateway.records) == 1)
        assert gateway.records[0].outcome == "busy"


async def test_g23_a_stream_without_a_line_end_is_given_up_at_1_mib() -> None:
    endless = chunk(b"x" * 65_536)
    engine = always(
        Reply((*CHAT.reply(CHAT.content[0]).steps[:-1], Send(endless, times=3200), Stall()))
    )
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(CHAT.request)
        message = assert_broken(answer, CHAT, CHAT.content[0], gateway)
        assert "without an end" in message
        await engine.wait_aborted(1)
        assert engine.bytes_sent < 32 * MIB  # what sockets took; of 200 MiB


async def test_g23_before_any_content_it_is_a_real_status() -> None:
    engine = always(CHAT.reply(Send(b"data: " + b"x" * (2 * MIB)), Stall()))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.status == 502
        assert b"without an end" in answer.body.data


async def test_no_stream_is_tried_again_after_its_first_byte() -> None:
    broken, other = always(CHAT.reply(CHAT.content[0], Reset())), always(CHAT.reply())
    async with broken, other, serving(broken, other, routing=MAIN_FIRST) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.status == 200
        assert not answer.body.complete
        assert not other.requests


async def test_a_pipelined_request_after_a_broken_stream_is_not_answered() -> None:
    """The connection ends there: bytes after a cut answer would be taken for its rest."""
    engine = always(CHAT.reply(*CHAT.content, Reset()))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request + CHAT.request)
        raw = await client.read_until_end()
        assert raw.count(b"HTTP/1.1 ") == 1
        assert len(engine.requests) == 1


async def test_a_counted_stream_with_an_error_event_never_looks_whole() -> None:
    """The error event must not fill up a content-length that the engine announced."""
    content = b"".join(CHAT.content)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
    for missing in (0, 1, 60, 10_000):
        engine = always(Reply((Send(head % (len(content) + missing) + content), Close())))
        async with engine, serving(engine) as gateway:
            answer = await gateway.ask(CHAT.request)
            assert_broken(answer, CHAT, content, gateway)
