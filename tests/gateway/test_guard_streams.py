"""Guarded answers on their way back: streamed, translated, retried, and through real clients."""

import json
from typing import Any

import openai
import pytest
from tests.gateway.guarded import (
    MAIL,
    PHONE,
    SECRETS,
    TEXT,
    chat_request,
    content,
    echo,
    fields,
    findings,
    guarding,
    said,
)
from tests.gateway.harness import Gateway
from tests.gateway.routes import MAIN_FIRST
from tests.gateway.test_hedging import STALL, Switched, ask_late, late
from tests.gateway.test_official_clients import anthropic_client, openai_client

from proa.domain.fleet import EngineKind, EngineSpec
from proa.guard.policy import GuardSettings
from proa.testing.chat import chat_events
from proa.testing.received import ReceivedRequest
from proa.testing.replies import event_bytes, json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply

_ROLE, _, _, _, FINISH, USAGE = chat_events()


def delta(**fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": fields, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
            "choices": [choice]}  # fmt: skip


def spelled(request: ReceivedRequest) -> Reply:
    """Streams what it was told, two characters at a time."""
    text = said(request)
    pieces = [delta(content=text[at : at + 2]) for at in range(0, len(text), 2)]
    return sse_reply([_ROLE, *pieces, FINISH, USAGE, "[DONE]"])


def streamed(data: bytes) -> str:
    """The content of all deltas."""
    lines = [line[6:] for line in data.decode().split("\n\n") if line.startswith("data: {")]
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


async def test_a_streamed_token_that_is_cut_comes_back_whole() -> None:
    async with ScriptedEngine(spelled) as engine, guarding(engine, mode="token") as gateway:
        answer = await gateway.ask(chat_request(stream=True))
        assert "[전화_1]" in said(engine.requests[0])
        assert streamed(answer.body.data) == TEXT
        assert answer.body.data.endswith(b"data: [DONE]\n\n")
        assert gateway.records[0].prompt_tokens is not None


async def test_what_a_model_makes_up_is_masked_in_its_stream() -> None:
    def invents(_: ReceivedRequest) -> Reply:
        pieces = [delta(content=c) for c in f"전화는 {PHONE}로"]
        return sse_reply([_ROLE, *pieces, FINISH, USAGE, "[DONE]"])

    async with ScriptedEngine(invents) as engine, guarding(engine) as gateway:
        answer = await gateway.ask(chat_request("안녕", stream=True))
        assert streamed(answer.body.data) == "전화는 010-****-****로"
        assert findings(gateway, "mobile_phone", "mask", in_answer=True) == 1


async def test_a_retried_request_is_the_masked_one() -> None:
    dead = ScriptedEngine([sse_reply([Close()])])
    async with dead as main, ScriptedEngine(spelled) as aux:
        settings = {"routing": MAIN_FIRST}
        async with guarding(main, aux, mode="token", settings=settings) as gateway:
            answer = await gateway.ask(chat_request(stream=True))
            assert [PHONE in said(e.requests[0]) for e in (main, aux)] == [False, False]
            assert streamed(answer.body.data) == TEXT


async def test_a_stream_that_breaks_tells_nothing_raw() -> None:
    events = [_ROLE, delta(content="메일은 "), {"error": {"message": f"no: {MAIL}", "code": 500}}]
    async with ScriptedEngine(lambda _: sse_reply(events)) as engine, guarding(engine) as gateway:
        answer = await gateway.ask(chat_request("안녕", stream=True))
        assert MAIL.encode() not in answer.body.data
        assert b"no: ***@example.com" in answer.body.data


@pytest.mark.parametrize("stream", [False, True])
async def test_translated_answers_are_restored(stream: bool) -> None:
    """An Anthropic client before an engine that knows chat completions only."""
    async with ScriptedEngine(spelled if stream else echo) as engine:
        spec = EngineSpec(
            name="main", url=engine.url, kind=EngineKind.OPENAI, lacks=("/v1/messages",)
        )
        async with guarding(spec, mode="token") as gateway, anthropic_client(gateway) as client:
            asked: dict[str, Any] = {
                "model": "scripted", "max_tokens": 9,
                "messages": [{"role": "user", "content": TEXT}],
            }  # fmt: skip
            if stream:
                async with client.messages.stream(**asked) as events:
                    text = "".join([text async for text in events.text_stream])
                assert text == TEXT
            else:
                answer = await client.messages.create(**asked)
                assert answer.content[0].text == f"말씀하신 것은: {TEXT}"
            assert PHONE not in said(engine.requests[0])


async def test_a_heartbeat_before_a_guarded_stream() -> None:
    async with (
        ScriptedEngine(spelled) as engine,
        guarding(engine, mode="token", settings={"heartbeat_s": 1.0}) as gateway,
    ):
        answer = await gateway.ask(chat_request(stream=True))
        assert streamed(answer.body.data) == TEXT


async def test_the_answer_of_a_second_engine_is_restored() -> None:
    message = {"role": "assistant", "content": "[전화_1]로 걸까요?"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    other = Switched(json_reply({"id": "c", "choices": [choice]}))
    guard = GuardSettings(mode="token")
    async with Switched() as main, other as aux, late(main, aux, guard=guard) as gateway:
        main.reply = STALL
        answer = await (await ask_late(gateway, chat_request(max_tokens=16)))
        assert answer.header("x-proa-engine") == "aux"
        assert content(answer) == f"{PHONE}로 걸까요?"
        assert [PHONE in said(e.requests[-1]) for e in (main, aux)] == [False, False]


# the official clients

TOOLS: Any = [{"type": "function", "function": {"name": "call", "parameters": {"type": "object"}}}]


def calls_back(request: ReceivedRequest) -> Reply:
    """Calls a tool with what it was told."""
    arguments = json.dumps({"to": said(request)}, ensure_ascii=False)
    call = {"id": "t1", "type": "function", "function": {"name": "call", "arguments": arguments}}
    if not fields(request).get("stream"):
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return json_reply({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                           "choices": [choice]})  # fmt: skip
    first = delta(tool_calls=[{"index": 0, **call, "function": {"name": "call", "arguments": ""}}])
    pieces = [
        delta(tool_calls=[{"index": 0, "function": {"arguments": arguments[at : at + 3]}}])
        for at in range(0, len(arguments), 3)
    ]
    return sse_reply([_ROLE, first, *pieces, FINISH, USAGE, "[DONE]"])


def masked(mode: str, text: str = TEXT) -> str:
    if mode == "token":
        return text
    return text.replace(PHONE, "010-****-****").replace(MAIL, "***@example.com")


async def openai_says(client: openai.AsyncOpenAI, *, stream: bool, **more: Any) -> Any:
    """The whole message; a stream's is put together by the client itself."""
    asked: dict[str, Any] = {
        "model": "scripted", "messages": [{"role": "user", "content": TEXT}], **more,
    }  # fmt: skip
    if not stream:
        return (await client.chat.completions.create(**asked)).choices[0].message
    async with client.chat.completions.stream(**asked) as events:
        return (await events.get_final_completion()).choices[0].message


@pytest.mark.parametrize("mode", ["mask", "token"])
@pytest.mark.parametrize("stream", [False, True])
async def test_the_openai_client(mode: Any, stream: bool) -> None:
    async with (
        ScriptedEngine(spelled if stream else echo) as engine,
        guarding(engine, mode=mode) as gateway,
        openai_client(gateway) as client,
    ):
        message = await openai_says(client, stream=stream)
        assert message.content.endswith(masked(mode))
    async with (
        ScriptedEngine(calls_back) as engine,
        guarding(engine, mode=mode) as gateway,
        openai_client(gateway) as client,
    ):
        message = await openai_says(client, stream=stream, tools=TOOLS)
        arguments = json.loads(message.tool_calls[0].function.arguments)
        assert arguments == {"to": masked(mode)}
        assert message.tool_calls[0].function.name == "call"


def anthropic_answer(request: ReceivedRequest) -> Reply:
    """Says what it was told, and calls a tool with it."""
    text = said(request)
    usage = {"input_tokens": 11, "output_tokens": 3}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "scripted",
               "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}  # fmt: skip
    tool = {"type": "tool_use", "id": "t1", "name": "call", "input": {"to": text}}
    if not fields(request).get("stream"):
        return json_reply(message | {"content": [{"type": "text", "text": text}, tool]})
    raw = json.dumps({"to": text}, ensure_ascii=False)
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": message | {"content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        *(("content_block_delta",
           {"index": 0, "delta": {"type": "text_delta", "text": text[at : at + 2]}})
          for at in range(0, len(text), 2)),
        ("content_block_stop", {"index": 0}),
        ("content_block_start", {"index": 1, "content_block": tool | {"input": {}}}),
        *(("content_block_delta",
           {"index": 1, "delta": {"type": "input_json_delta", "partial_json": raw[at : at + 3]}})
          for at in range(0, len(raw), 3)),
        ("content_block_stop", {"index": 1}),
        ("message_delta", {"delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}}),
        ("message_stop", {}),
    ]  # fmt: skip
    return sse_reply(
        [b"event: %b\n%b" % (name.encode(), event_bytes({"type": name} | fields))
         for name, fields in events]
    )  # fmt: skip


async def anthropic_says(gateway: Gateway, *, stream: bool) -> Any:
    async with anthropic_client(gateway) as client:
        asked: dict[str, Any] = {
            "model": "scripted", "max_tokens": 9, "messages": [{"role": "user", "content": TEXT}],
        }  # fmt: skip
        if not stream:
            return await client.messages.create(**asked)
        async with client.messages.stream(**asked) as events:
            return await events.get_final_message()


@pytest.mark.parametrize("mode", ["mask", "token"])
@pytest.mark.parametrize("stream", [False, True])
async def test_the_anthropic_client(mode: Any, stream: bool) -> None:
    async with ScriptedEngine(anthropic_answer) as engine, guarding(engine, mode=mode) as gateway:
        message = await anthropic_says(gateway, stream=stream)
        text, tool = message.content
        assert text.text == masked(mode)
        assert tool.input == {"to": masked(mode)}
        assert message.usage.output_tokens == 3
        assert not any(secret in said(engine.requests[0]) for secret in SECRETS)
