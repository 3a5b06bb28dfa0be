"""Requests of one API on engines of another: whole answers, errors, other engines."""

from typing import Any

import pytest
from tests.gateway.foreign import (
    CHAT,
    COMPLETIONS,
    HI,
    MESSAGES,
    TGI_WHOLE,
    TRITON_WHOLE,
    always,
    ask,
    by_path,
    decoded,
    spec,
    triton_stream,
)
from tests.gateway.harness import serving
from tests.gateway.routes import MAIN_FIRST, main_first

from proa.domain.dialect import ChatTemplate, TritonFields
from proa.domain.fleet import EngineKind
from proa.routing.spec import RouteSpec, RoutingSpec
from proa.telemetry.rows import Engine
from proa.testing.chat import chat_completion, chat_events
from proa.testing.raw_response import json_request
from proa.testing.replies import Framing, body_reply, json_reply, scattered, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply


async def test_a_chat_on_triton() -> None:
    async with always(TRITON_WHOLE) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(max_tokens=4))
        assert answer.status == 200
        assert answer.header("content-type") == "application/json"
        assert answer.header("x-proa-engine") == "main"
        decision = answer.header("x-proa-decision")
        assert decision is not None
        assert decision.endswith(" via=any translated=triton")
        assert decoded(answer)["choices"][0]["message"]["content"] == "a b"
        (request,) = engine.requests
        assert request.target == "/v2/models/scripted/generate"
        assert request.json() == {
            "text_input": "User: 안녕\nAssistant:",
            "stream": False,
            "max_tokens": 4,
        }
        assert [record.outcome for record in gateway.records] == ["ok"]


async def test_a_completion_on_triton() -> None:
    async with always(TRITON_WHOLE) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(COMPLETIONS))
        assert decoded(answer)["choices"][0]["text"] == "a b"
        assert dict(engine.requests[0].json())["text_input"] == "안녕"  # type: ignore[call-overload]


async def test_counts_of_the_engine_are_accounted() -> None:
    tgi = by_path(generate=TGI_WHOLE)
    async with tgi, serving(spec(tgi, EngineKind.TGI, lacks=(CHAT,))) as gateway:
        told = decoded(await gateway.ask(ask()))
        assert told["usage"] == {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        await gateway.until_idle()
        assert gateway.engine("main", Engine.PROMPT_TOKENS) == 5
        assert gateway.engine("main", Engine.COMPLETION_TOKENS) == 2


async def test_a_body_in_pieces_without_its_length() -> None:
    parts = [b'{"text_out', b'put":"a ', b'b"}']
    reply = body_reply(parts, framing=Framing.UNTIL_CLOSE)
    async with always(scattered(reply, seed=3)) as engine, serving(spec(engine)) as gateway:
        assert decoded(await gateway.ask(ask()))["choices"][0]["message"]["content"] == "a b"


async def test_a_route_names_path_and_model() -> None:
    route = RouteSpec(name="faq", rewrite_path=CHAT, model="scripted")
    routing = RoutingSpec(routes=(route,))
    async with always(TRITON_WHOLE) as engine, serving(spec(engine), routing=routing) as gateway:
        answer = await gateway.ask(json_request({"model": "alias", "messages": HI}, "/api/faq?a=1"))
        assert answer.status == 200
        assert engine.requests[0].target == "/v2/models/scripted/generate"


async def test_one_connection_serves_many() -> None:
    async with always(TRITON_WHOLE) as engine, serving(spec(engine)) as gateway:
        for _ in range(3):
            assert (await gateway.ask(ask())).status == 200
        assert {request.connection for request in engine.requests} == {1}


@pytest.mark.parametrize(
    ("settings", "engine_template", "prompt"),
    [
        ({}, "chatml", "<|im_start|>user\n안녕<|im_end|>\n<|im_start|>assistant\n"),
        (
            {
                "chat_templates": {"mine": ChatTemplate(user="<{content}>", generation="!")},
                "model_templates": {"scripted": "mine"},
            },
            "chatml",
            "<안녕>!",
        ),
    ],
    ids=["of the engine", "of the model"],
)
async def test_templates(settings: Any, engine_template: str, prompt: str) -> None:
    async with always(TRITON_WHOLE) as engine:
        one = spec(engine, chat_template=engine_template)
        async with serving(one, **settings) as gateway:
            await gateway.ask(ask())
            assert dict(engine.requests[0].json())["text_input"] == prompt  # type: ignore[call-overload]


async def test_names_of_a_models_fields() -> None:
    reply = json_reply({"out": "a"})
    async with always(reply) as engine:
        fields = TritonFields(text_input="in", text_output="out", stream="")
        async with serving(spec(engine, triton=fields)) as gateway:
            assert decoded(await gateway.ask(ask()))["choices"][0]["message"]["content"] == "a"
            assert engine.requests[0].json() == {"in": "User: 안녕\nAssistant:"}


async def test_an_error_body_is_told_in_the_clients_api() -> None:
    unknown = json_reply({"error": "Request for unknown model: 'x' is not found"}, status=404)
    async with always(unknown) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask())
        assert answer.status == 404
        assert decoded(answer)["error"]["message"] == "Request for unknown model: 'x' is not found"
        assert decoded(answer)["error"]["type"] == "not_found_error"
        told = decoded(await gateway.ask(ask(MESSAGES)))
        assert (told["type"], told["error"]["type"]) == ("error", "not_found_error")
        assert [record.outcome for record in gateway.records] == ["client_fault"] * 2


async def test_an_error_with_the_status_of_a_success() -> None:
    reply = json_reply({"error": "generate expects model to produce exactly 1 response"})
    async with always(reply) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask())
        assert answer.status == 500
        assert "exactly 1 response" in decoded(answer)["error"]["message"]
        assert gateway.records[0].outcome == "broken"


async def test_an_answer_that_is_none() -> None:
    async with always(json_reply({"scores": [1]})) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask())
        assert answer.status == 502
        assert '{"scores":[1]}' in decoded(answer)["error"]["message"]


async def test_what_has_no_translation_is_refused_with_its_name() -> None:
    async with always(TRITON_WHOLE) as engine, serving(spec(engine)) as gateway:
        answer = await gateway.ask(ask(tools=[{"type": "function"}]))
        assert answer.status == 400
        error = decoded(answer)["error"]
        assert (error["code"], error["type"]) == ("not_translated", "invalid_request_error")
        assert error["message"] == "`tools` is not translated for this engine"
        image = {"type": "image", "source": {"type": "base64", "media_type": "a", "data": "b"}}
        answer = await gateway.ask(ask(MESSAGES, messages=[{"role": "user", "content": [image]}]))
        assert answer.status == 400
        assert "image_url" in decoded(answer)["error"]["message"]
        assert engine.requests == []


async def test_what_one_engine_can_not_say_goes_to_one_that_can() -> None:
    triton, other = always(TRITON_WHOLE), ScriptedEngine()
    async with triton, other:
        vllm = spec(other, EngineKind.VLLM, "aux")
        async with serving(spec(triton), vllm, routing=MAIN_FIRST) as gateway:
            answer = await gateway.ask(ask(tools=[{"type": "function"}]))
            assert answer.status == 200
            assert answer.header("x-proa-engine") == "aux"
            assert "translated" not in str(answer.header("x-proa-decision"))
            assert triton.requests == []
            assert (await gateway.ask(ask())).header("x-proa-engine") == "main"


FAILURES = {
    "503": json_reply({"error": "Exceeds maximum queue size"}, status=503),
    "error in 200": json_reply({"error": "Exceeds maximum queue size"}),
    "closed": Reply((Close(),)),
    "first event": triton_stream({"error": "Exceeds maximum queue size"}),
}


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@pytest.mark.parametrize("failure", FAILURES)
async def test_failover_from_triton_to_another_kind(failure: str, path: str) -> None:
    stream = failure == "first event"
    good = by_path(completions=_openai(stream), messages=json_reply({"type": "message"}))
    async with always(FAILURES[failure]) as triton, good:
        aux = spec(good, EngineKind.OPENAI, "aux", lacks=(MESSAGES,))
        async with serving(spec(triton), aux, routing=MAIN_FIRST) as gateway:
            answer = await gateway.ask(ask(path, stream=stream))
            assert answer.status == 200
            assert answer.header("x-proa-engine") == "aux"
            assert (len(triton.requests), len(good.requests)) == (1, 1)
            assert good.requests[0].path == CHAT
            assert gateway.records[0].retries == 1
            assert b"Hello" in answer.body.data


def _openai(stream: bool) -> Reply:
    return sse_reply(chat_events()) if stream else json_reply(chat_completion())


async def test_failover_to_triton() -> None:
    busy = always(json_reply({"error": {"message": "full"}}, status=503))
    async with busy, always(TRITON_WHOLE) as triton:
        vllm = spec(busy, EngineKind.VLLM)
        async with serving(vllm, spec(triton, name="aux"), routing=MAIN_FIRST) as gateway:
            answer = await gateway.ask(ask())
            assert answer.status == 200
            assert "translated=triton" in str(answer.header("x-proa-decision"))
            assert busy.requests[0].json() == {"model": "scripted", "messages": HI}


async def test_a_status_that_the_route_falls_back_on() -> None:
    unknown = json_reply({"error": "unknown model"}, status=404)
    async with always(unknown) as triton, ScriptedEngine() as other:
        routing = main_first(fallback_on=frozenset((404,)))
        vllm = spec(other, EngineKind.VLLM, "aux")
        async with serving(spec(triton), vllm, routing=routing) as gateway:
            assert (await gateway.ask(ask())).header("x-proa-engine") == "aux"


async def test_what_a_models_engines_can_not_say_goes_to_the_routes_next_model() -> None:
    route = RouteSpec(name="r", fallback_models=("other",))
    async with always(TRITON_WHOLE) as triton, ScriptedEngine() as engine:
        vllm = spec(engine, EngineKind.VLLM, "aux")
        async with serving(spec(triton), vllm, routing=RoutingSpec(routes=(route,))) as gateway:
            gateway.see(models={"main": ("scripted",), "aux": ("other",)})
            answer = await gateway.ask(ask(tools=[{"type": "function"}]))
            assert (answer.status, answer.header("x-proa-engine")) == (200, "aux")
            assert (triton.requests, len(engine.requests)) == ([], 1)
            assert b'"model":"other"' in engine.requests[0].body
