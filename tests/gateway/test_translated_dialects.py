"""What an engine lacks is found out; counts of tokens; the official clients."""

from typing import Any

import anthropic
import pytest
from tests.gateway.foreign import (
    CHAT,
    COUNT,
    HI,
    MESSAGES,
    NO_ROUTE,
    TGI_STREAM,
    TGI_WHOLE,
    TRITON_WHOLE,
    always,
    anthropic_client,
    ask,
    by_path,
    decoded,
    spec,
    triton_stream,
)
from tests.gateway.harness import serving

from proa.domain.fleet import EngineKind
from proa.testing.chat import chat_completion
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine


async def test_tgi_with_a_chat_route_is_not_translated() -> None:
    tgi = by_path(completions=json_reply(chat_completion()))
    async with tgi, serving(spec(tgi, EngineKind.TGI)) as gateway:
        for _ in range(2):
            answer = await gateway.ask(ask())
            assert decoded(answer)["id"] == "chatcmpl-scripted"
            assert "translated" not in str(answer.header("x-proa-decision"))
        assert [request.path for request in tgi.requests] == [CHAT] * 2


async def test_tgi_without_a_chat_route_is_found_out_once() -> None:
    tgi = by_path(generate=TGI_WHOLE, generate_stream=TGI_STREAM)
    async with tgi, serving(spec(tgi, EngineKind.TGI)) as gateway:
        answer = await gateway.ask(ask())
        assert decoded(answer)["choices"][0]["message"]["content"] == "a b"
        assert str(answer.header("x-proa-decision")).endswith("via=any translated=tgi")
        assert (await gateway.ask(ask(stream=True))).body.data.endswith(b"data: [DONE]\n\n")
        assert [request.path for request in tgi.requests] == [CHAT, "/generate", "/generate_stream"]
        await gateway.until_idle()
        assert [record.outcome for record in gateway.records] == ["ok", "ok"]
        assert [record.retries for record in gateway.records] == [0, 0]


async def test_two_steps_are_found_out_one_after_the_other() -> None:
    tgi = by_path(generate=TGI_WHOLE)
    async with tgi, serving(spec(tgi, EngineKind.TGI)) as gateway:
        answer = await gateway.ask(ask(MESSAGES))
        assert decoded(answer)["content"] == [{"type": "text", "text": "a b"}]
        assert decoded(answer)["usage"] == {"input_tokens": 5, "output_tokens": 2}
        assert str(answer.header("x-proa-decision")).endswith("via=any translated=tgi")
        assert [request.path for request in tgi.requests] == [CHAT, "/generate"]


async def test_messages_that_an_engine_speaks_pass_unchanged() -> None:
    engine = by_path(messages=json_reply({"type": "message", "own": True}))
    async with engine, serving(spec(engine, EngineKind.OPENAI)) as gateway:
        for _ in range(2):
            assert decoded(await gateway.ask(ask(MESSAGES))) == {"type": "message", "own": True}


async def test_a_missing_model_is_no_missing_route() -> None:
    missing = {"error": {"message": "The model `x` does not exist", "code": 404}}
    engine = by_path(messages=json_reply(missing, status=404))
    async with engine, serving(spec(engine, EngineKind.OPENAI)) as gateway:
        for _ in range(2):
            answer = await gateway.ask(ask(MESSAGES))
            assert (answer.status, decoded(answer)) == (404, missing)
        assert [request.path for request in engine.requests] == [MESSAGES] * 2


async def test_an_engine_without_any_of_the_routes() -> None:
    async with always(NO_ROUTE) as engine, serving(spec(engine, EngineKind.OPENAI)) as gateway:
        answer = await gateway.ask(ask(MESSAGES))
        assert answer.status == 404
        assert decoded(answer)["type"] == "error"
        assert [request.path for request in engine.requests] == [MESSAGES, CHAT]


async def test_a_query_is_no_other_path() -> None:
    engine = by_path(generate=TRITON_WHOLE)
    async with engine, serving(spec(engine)) as gateway:
        given = {"model": "scripted", "max_tokens": 9, "messages": HI}
        answer = await gateway.ask(json_request(given, f"{MESSAGES}?beta=true"))
        assert decoded(answer)["content"] == [{"type": "text", "text": "a b"}]
        assert engine.requests[0].target == "/v2/models/scripted/generate"


async def test_what_is_no_post_passes() -> None:
    async with always(NO_ROUTE) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(request_bytes(CHAT, method="GET"), method="GET")
        assert answer.status == 404
        assert engine.requests[0].path == CHAT


async def test_the_kind_that_the_control_plane_found_counts() -> None:
    async with always(TRITON_WHOLE) as engine, serving(engine) as gateway:
        link = gateway.plane.dispatcher.links[0]
        link.seen_as(EngineKind.TRITON)
        answer = await gateway.ask(ask())
        assert "translated=triton" in str(answer.header("x-proa-decision"))
        link.seen_as(EngineKind.VLLM)
        assert link.dialect is None


@pytest.mark.parametrize("kind", [EngineKind.TRITON, EngineKind.TGI])
async def test_tokens_are_estimated_where_the_engine_can_not_count(kind: EngineKind) -> None:
    async with ScriptedEngine() as engine, serving(spec(engine, kind)) as gateway:
        answer = await gateway.ask(ask(COUNT))
        assert set(decoded(answer)) == {"input_tokens"}
        assert 3 <= decoded(answer)["input_tokens"] <= 40
        assert "translated=estimate" in str(answer.header("x-proa-decision"))
        assert engine.requests == []


async def test_a_body_without_messages_has_no_tokens_to_count() -> None:
    async with ScriptedEngine() as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(json_request({"model": "scripted"}, COUNT))
        assert (answer.status, decoded(answer)["error"]["type"]) == (400, "invalid_request_error")


async def test_a_counter_that_an_engine_lacks_is_found_out() -> None:
    engine = by_path()
    async with engine, serving(spec(engine, EngineKind.OLLAMA)) as gateway:
        for _ in range(2):
            assert "input_tokens" in decoded(await gateway.ask(ask(COUNT)))
        assert [request.path for request in engine.requests] == [COUNT]


async def test_anthropics_client_on_triton() -> None:
    whole, stream = TRITON_WHOLE, triton_stream()
    engine = by_path(generate=whole, generate_stream=stream)
    async with engine, serving(spec(engine)) as gateway:
        speaker = anthropic_client(gateway)
        answer = await speaker.messages.create(
            model="scripted", max_tokens=5, messages=[{"role": "user", "content": "hi"}]
        )
        assert [block.text for block in answer.content if block.type == "text"] == ["a b"]
        assert answer.usage.input_tokens > 0
        async with speaker.messages.stream(
            model="scripted", max_tokens=5, messages=[{"role": "user", "content": "hi"}]
        ) as events:
            assert [text async for text in events.text_stream] == ["a ", "b"]
            final = await events.get_final_message()
        assert (final.stop_reason, final.usage.output_tokens > 0) == ("end_turn", True)
        counted = await speaker.messages.count_tokens(
            model="scripted", messages=[{"role": "user", "content": "hi"}]
        )
        assert counted.input_tokens > 0


async def test_anthropics_client_calls_tools_on_an_openai_engine() -> None:
    call = {"index": 0, "id": "c1", "type": "function"}
    deltas = [
        {"tool_calls": [call | {"function": {"name": "weather", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"서울"}'}}]},
    ]
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    engine = by_path(completions=sse_reply([*events, last]))
    async with engine, serving(spec(engine, EngineKind.OLLAMA)) as gateway:
        async with anthropic_client(gateway).messages.stream(
            model="scripted",
            max_tokens=5,
            messages=[{"role": "user", "content": "날씨?"}],
            tools=[{"name": "weather", "input_schema": {"type": "object"}}],
        ) as stream:
            final = await stream.get_final_message()
        (block,) = final.content
        assert block.type == "tool_use"
        assert (block.name, block.input) == ("weather", {"city": "서울"})
        assert final.stop_reason == "tool_use"
        asked: Any = engine.requests[-1].json()
        assert asked["tools"][0]["function"]["name"] == "weather"


async def test_anthropics_client_reads_errors() -> None:
    full = json_reply({"error": "Exceeds maximum queue size"}, status=503)
    async with always(full) as engine, serving(spec(engine)) as gateway:
        with pytest.raises(anthropic.APIStatusError) as error:
            await anthropic_client(gateway).messages.create(
                model="scripted", max_tokens=5, messages=[{"role": "user", "content": "hi"}]
            )
        assert error.value.status_code == 503
        assert "Exceeds maximum queue size" in error.value.message
