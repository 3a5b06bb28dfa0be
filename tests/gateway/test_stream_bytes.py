"""Bodies of answers arrive byte by byte as the engine sent them, whatever the framing and cuts."""

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engines.recorded import recorded
from tests.gateway.apis import APIS, CHAT, COMPLETIONS, OLLAMA, StreamingApi
from tests.gateway.harness import serving

from proa.telemetry.rows import Engine
from proa.testing.chat import chat_events
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import (
    Framing,
    body_reply,
    cut_at,
    event_bytes,
    json_bytes,
    json_reply,
    raw_reply,
    scattered,
    sse_reply,
)
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Send

LINE_ENDS = (b"\n", b"\r\n", b"\r")
MIXED = "가나다 中文 🙂 é \u2028 \\n"


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


def written(reply: Reply) -> bytes:
    return b"".join(step.data for step in reply.steps if isinstance(step, Send))


@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("api", APIS.values(), ids=APIS)
async def test_every_api_in_every_framing(api: StreamingApi, framing: Framing) -> None:
    for seed in range(5):
        reply = scattered(api.reply(framing=framing), seed=seed)
        async with always(reply) as engine, serving(engine) as gateway:
            answer = await gateway.ask(api.request)
            assert (answer.body.data, answer.body.complete) == (api.whole, True)
            assert answer.header("content-type") == api.content_type
            record = gateway.records[0]
            assert record.outcome == "ok"
            assert record.bytes_out == len(api.whole)
            if api.has_mark:
                assert (record.prompt_tokens, record.completion_tokens) == (11, 3)


@pytest.mark.parametrize("space", [True, False], ids=["space", "tight"])
@pytest.mark.parametrize("line_end", LINE_ENDS, ids=["LF", "CRLF", "CR"])
async def test_g20_all_line_ends_pass_untouched_and_are_counted(
    line_end: bytes, space: bool
) -> None:
    events = [*chat_events([MIXED, " a"]), "[DONE]"]
    written = [event_bytes(event, line_end=line_end, space=space) for event in events]
    for seed in range(3):
        reply = scattered(sse_reply(written, done=False), seed=seed, mean_bytes=3)
        async with always(reply) as engine, serving(engine) as gateway:
            answer = await gateway.ask(CHAT.request)
            assert (answer.body.data, answer.body.complete) == (b"".join(written), True)
            assert gateway.engine("main", Engine.PROMPT_TOKENS) == 11
            assert gateway.engine("main", Engine.COMPLETION_TOKENS) == 3


async def test_a_stream_cut_at_every_byte() -> None:
    reply = CHAT.reply(CHAT.content[0], *CHAT.ending)
    head, _, body = written(reply).partition(b"\r\n\r\n")
    head += b"\r\n\r\n"
    replies = [raw_reply(head, body[:at], body[at:]) for at in range(1, len(body))]
    expected = b"".join((CHAT.content[0], *CHAT.ending))
    engine = ScriptedEngine(replies)
    async with engine, serving(engine) as gateway, gateway.client() as client:
        for _ in replies:
            await client.send(CHAT.request)
            answer = await client.read_response()
            assert (answer.body.data, answer.body.complete) == (expected, True)


async def test_an_answer_byte_by_byte() -> None:
    body = json_bytes({"text": MIXED * 20})
    for api, reply, expected in (
        (CHAT, CHAT.reply(), CHAT.whole),
        (OLLAMA, OLLAMA.reply(), OLLAMA.whole),
        (CHAT, body_reply([body]), body),
    ):
        whole = written(reply)
        engine = always(raw_reply(*(whole[i : i + 1] for i in range(len(whole)))))
        async with engine, serving(engine) as gateway:
            answer = await gateway.ask(api.request)
            assert (answer.body.data, answer.body.complete) == (expected, True)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    body=st.binary(max_size=2000),
    framing=st.sampled_from(Framing),
    seed=st.integers(0, 10**6),
    content_type=st.sampled_from(["application/json", "application/octet-stream", "text/plain"]),
)
async def test_any_body_in_any_framing_and_cuts(
    body: bytes, framing: Framing, seed: int, content_type: str
) -> None:
    parts = cut_at(body, seed=seed, mean_bytes=100)
    reply = body_reply(parts, content_type=content_type, framing=framing)
    engine = always(scattered(reply, seed=seed, mean_bytes=40))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(request_bytes("/any/path", b"{}"))
        assert (answer.body.data, answer.body.complete) == (body, True)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    body=st.binary(max_size=2000),
    chunked=st.booleans(),
    seed=st.integers(0, 10**6),
)
async def test_any_request_body_in_any_cuts(body: bytes, chunked: bool, seed: int) -> None:
    chunks = cut_at(body, seed=seed, mean_bytes=100) if chunked else None
    request = request_bytes("/any/path", body, chunks=chunks)
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        async with gateway.client() as client:
            for piece in cut_at(request, seed=seed, mean_bytes=60):
                await client.send(piece)
            assert (await client.read_response()).status == 200
        received = engine.requests[0]
        assert bytes(received.body) == body
        assert received.header("content-length") == str(len(body))
        assert not engine.violations


@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("mib", [1, 50])
async def test_large_answers(framing: Framing, mib: int) -> None:
    body = random.Random(mib).randbytes(mib * 1_048_576)
    engine = always(body_reply(cut_at(body, seed=1, mean_bytes=300_000), framing=framing))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(json_request({"model": "scripted"}))
        assert answer.body.complete
        assert answer.body.data == body


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "counted"])
@pytest.mark.parametrize("mib", [1, 50])
async def test_large_requests(chunked: bool, mib: int) -> None:
    body = random.Random(mib).randbytes(mib * 1_048_576)
    chunks = cut_at(body, seed=1, mean_bytes=300_000) if chunked else None
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        for _ in range(2):
            answer = await gateway.ask(request_bytes("/any/path", body, chunks=chunks))
            assert answer.status == 200
        assert [bytes(request.body) == body for request in engine.requests] == [True, True]
        assert gateway.gauges()["body bytes"] == 0


async def test_a_long_stream_has_no_limit() -> None:
    """5 MB in small events (also G88)."""
    event = event_bytes({"choices": [{"index": 0, "delta": {"content": "x" * 60}}]})
    count = 5_000_000 // len(event)
    parts = cut_at(event * count, seed=1, mean_bytes=20_000)
    engine = always(CHAT.reply(*parts, *CHAT.ending))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.body.complete
        assert answer.body.data == event * count + b"".join(CHAT.ending)


async def test_g29_tool_call_deltas_keep_their_order() -> None:
    def delta(function: dict[str, str], **more: object) -> dict[str, object]:
        call = {"index": 0, "function": function} | more
        return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}

    pieces = ['{"ci', 'ty":"', "서울", '"}']
    events = [delta({"name": "weather", "arguments": ""}, id="call_1", type="function")]
    events += [delta({"arguments": piece}) for piece in pieces]
    finish: dict[str, object] = {
        "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    }
    reply = sse_reply([*events, finish])
    async with always(reply) as engine, serving(engine) as gateway:
        answer = await gateway.ask(CHAT.request)
        got = [
            json.loads(block.removeprefix(b"data: "))
            for block in answer.body.data.split(b"\n\n")
            if block and block != b"data: [DONE]"
        ]
        assert got == [*events, finish]


@pytest.mark.parametrize("name", ["vllm/completions_stream", "sglang/completions_stream"])
async def test_g30_usage_of_streamed_completions(name: str) -> None:
    body = recorded(name).body.rstrip(b"\n") + b"\n\n"
    reply = body_reply([body], content_type="text/event-stream", framing=Framing.CHUNKED)
    async with always(reply) as engine, serving(engine) as gateway:
        answer = await gateway.ask(COMPLETIONS.request)
        assert answer.body.data == body
        assert gateway.engine("main", Engine.PROMPT_TOKENS) == 4
        assert gateway.engine("main", Engine.COMPLETION_TOKENS) == 3


@pytest.mark.parametrize(
    "empty", [None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}]
)
async def test_g32_the_last_usage_wins(empty: object) -> None:
    events = [event | {"usage": empty} for event in chat_events(with_usage=False)]
    last = chat_events()[-1]
    async with always(sse_reply([*events, last])) as engine, serving(engine) as gateway:
        await gateway.ask(CHAT.request)
        record = gateway.records[0]
        assert (record.prompt_tokens, record.completion_tokens) == (11, 3)


async def test_g35_a_refused_stream_is_whole_json() -> None:
    error = {"error": {"message": "bad " + "x" * 5000, "type": "invalid_request_error"}}
    for framing in Framing:
        reply = json_reply(error, status=400, framing=framing)
        async with always(reply) as engine, serving(engine) as gateway:
            answer = await gateway.ask(CHAT.request)
            assert answer.status == 400
            assert answer.body.complete
            assert answer.body.json() == error


async def test_the_head_answer_of_a_stream_has_no_body() -> None:
    async with always(CHAT.reply()) as engine, serving(engine) as gateway:
        answer = await gateway.ask(request_bytes("/any", method="HEAD"), method="HEAD")
        assert answer.status == 200
        assert answer.header("content-type") == "text/event-stream"


@pytest.mark.parametrize("framing", [Framing.COUNTED, Framing.CHUNKED])
@pytest.mark.parametrize("usage_first", [True, False])
@pytest.mark.parametrize("numbers", [10, 20_000])
async def test_usage_is_found_at_both_ends_of_an_answer(
    framing: Framing, usage_first: bool, numbers: int
) -> None:
    """llama.cpp's embeddings tell their usage before the data."""
    usage = {"usage": {"prompt_tokens": 7, "total_tokens": 7}}
    data = {"object": "list", "data": [{"embedding": [0.25] * numbers}]}
    answer = json_bytes(usage | data if usage_first else data | usage)
    reply = body_reply(cut_at(answer, seed=3, mean_bytes=9000), framing=framing)
    async with always(reply) as engine, serving(engine) as gateway:
        got = await gateway.ask(json_request({"input": "text"}, "/v1/embeddings"))
        assert got.body.data == answer
        assert gateway.engine("main", Engine.PROMPT_TOKENS) == 7
