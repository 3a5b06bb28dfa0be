"""What routes change in a request, and that nothing else is changed (G37, G38)."""

import asyncio
import json
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.recorded import recorded
from tests.gateway.harness import engine_spec, key_spec, serving

from proa.domain.fleet import EngineKind
from proa.routing.spec import MatchSpec, ModelSpec, OverflowSpec, RouteSpec, RoutingSpec
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import body_reply, json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Stall

BOUNDARY = "----boundary7MA4YWxkTrZu0gW"
FORM = (("content-type", f"multipart/form-data; boundary={BOUNDARY}"),)
ALIAS = RoutingSpec(routes=(RouteSpec(name="alias", model="scripted"),))


def transcription(model: str, sound: bytes) -> bytes:
    """The form that official clients send to /v1/audio/transcriptions."""
    return (
        (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="model"\r\n\r\n{model}\r\n'
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n'
            "Content-Type: audio/wav\r\n\r\n"
        ).encode()
        + sound
        + f"\r\n--{BOUNDARY}--\r\n".encode()
    )


# bodies


UNKNOWN_FIELDS = (
    b'{"model": "scripted", "seed": 18446744073709551615, "temperature": 1.10, "top_p":1e0,'
    b' "return_token_ids": true, "chat_template_kwargs": {"enable_thinking": false},'
    b' "messages": [{"role": "user", "content": "\\uac00 \xea\xb0\x80 \\ud83d\\ude42"}]}'
)


async def test_a_body_that_no_rule_rewrites_is_not_touched() -> None:
    for body in (UNKNOWN_FIELDS, b'{"stream":"true"}', b"\xef\xbb\xbf{}", b"NaN", b"not json"):
        async with ScriptedEngine() as engine, serving(engine) as gateway:
            assert (await gateway.ask(request_bytes("/v1/chat/completions", body))).status == 200
            assert bytes(engine.requests[0].body) == body


async def test_a_rewritten_model_leaves_every_other_value() -> None:
    body = UNKNOWN_FIELDS.replace(b'"scripted"', b'"gpt-4o"')
    async with ScriptedEngine() as engine, serving(engine, routing=ALIAS) as gateway:
        assert (await gateway.ask(request_bytes("/v1/chat/completions", body))).status == 200
        received = bytes(engine.requests[0].body)
        for part in (
            b"18446744073709551615",
            b"1.10",
            b"1e0",
            b'"\\uac00 \xea\xb0\x80 \\ud83d\\ude42"',
        ):
            assert part in received
        assert json.loads(received) == json.loads(body) | {"model": "scripted"}
        assert engine.requests[0].header("content-length") == str(len(received))


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4))
async def test_any_fields_survive_a_rewritten_model(fields: dict[str, object]) -> None:
    body = fields | {"model": "other"}
    async with ScriptedEngine() as engine, serving(engine, routing=ALIAS) as gateway:
        assert (await gateway.ask(json_request(body))).status == 200
        assert engine.requests[0].json() == body | {"model": "scripted"}


async def test_a_body_whose_model_cannot_be_set_is_refused() -> None:
    async with ScriptedEngine() as engine, serving(engine, routing=ALIAS) as gateway:
        answer = await gateway.ask(request_bytes("/v1/chat/completions", b"not json"))
        assert answer.status == 400
        assert b"no readable model field" in answer.body.data
        assert not engine.requests


# Triton


def infer_request(tensor: bytes) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """A binary infer request of the KServe v2 protocol with its binary tensor extension."""
    size = {"binary_data_size": len(tensor)}
    inputs = [{"name": "x", "datatype": "UINT8", "shape": [len(tensor)], "parameters": size}]
    outputs = [{"name": "y", "parameters": {"binary_data": True}}]
    head = json.dumps({"inputs": inputs, "outputs": outputs}).encode()
    headers = (
        ("content-type", "application/octet-stream"),
        ("Inference-Header-Content-Length", str(len(head))),
    )
    return head + tensor, headers


async def test_g37_binary_tensors_pass_both_ways() -> None:
    tensor = random.Random(5).randbytes(300_000)
    meta = json.dumps({"model_name": "scripted", "outputs": [{"name": "y"}]}).encode()
    output = meta + struct.pack("<I", 7) + tensor[::-1]
    lengths = (("Inference-Header-Content-Length", str(len(meta))),)
    reply = body_reply([output], content_type="application/octet-stream", headers=lengths)
    async with ScriptedEngine(lambda _: reply) as engine:
        spec = engine_spec(engine, "main", kind=EngineKind.TRITON)
        async with serving(spec) as gateway:
            body, headers = infer_request(tensor)
            target = "/v2/models/scripted/infer"
            answer = await gateway.ask(request_bytes(target, body, headers=headers))
            assert (answer.status, answer.body.complete) == (200, True)
            assert answer.body.data == output
            assert answer.header("inference-header-content-length") == str(len(meta))
            received = engine.requests[0]
            assert (received.target, bytes(received.body)) == (target, body)
            assert received.header("inference-header-content-length") == headers[1][1]
            assert not engine.violations


async def test_g37_the_recorded_answer_of_triton() -> None:
    seen = recorded("triton/infer_echo")
    async with ScriptedEngine([body_reply([seen.body])]) as engine, serving(engine) as gateway:
        answer = await gateway.ask(request_bytes("/v2/models/scripted/infer", b"{}"))
        assert answer.body.data == seen.body


# audio


async def test_g38_an_upload_arrives_whole_with_key_and_content_type() -> None:
    body = transcription("scripted", random.Random(6).randbytes(2_000_000))
    request = request_bytes(
        "/v1/audio/transcriptions", body, headers=(*FORM, ("authorization", "Bearer engine-key"))
    )
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        assert (await gateway.ask(request)).status == 200
        received = engine.requests[0]
        assert bytes(received.body) == body
        assert received.header("content-type") == FORM[0][1]
        assert received.header("content-length") == str(len(body))
        assert received.header("authorization") == "Bearer engine-key"
        assert gateway.records[0].model == "scripted"


async def test_g38_the_engines_own_key_replaces_the_clients() -> None:
    body = transcription("scripted", b"RIFF")
    keys = (key_spec("team", "gateway-key"),)
    request = request_bytes(
        "/v1/audio/transcriptions", body, headers=(*FORM, ("authorization", "Bearer gateway-key"))
    )
    async with ScriptedEngine() as engine:
        spec = engine_spec(engine, "main", api_key="engine-key")
        async with serving(spec, keys=keys) as gateway:
            assert (await gateway.ask(request)).status == 200
            assert engine.requests[0].header_values("authorization") == ["Bearer engine-key"]
            assert b"gateway-key" not in engine.requests[0].raw


async def test_g38_the_model_of_a_form_is_rewritten_and_nothing_else() -> None:
    sound = bytes(range(256)) * 2000
    request = request_bytes(
        "/v1/audio/transcriptions", transcription("whisper-1", sound), headers=FORM
    )
    async with ScriptedEngine() as engine, serving(engine, routing=ALIAS) as gateway:
        assert (await gateway.ask(request)).status == 200
        assert bytes(engine.requests[0].body) == transcription("scripted", sound)


async def test_a_form_routes_by_its_model() -> None:
    async with ScriptedEngine() as main, ScriptedEngine() as aux, serving(main, aux) as gateway:
        gateway.see(models={"main": ["chat"], "aux": ["whisper"]})
        request = request_bytes(
            "/v1/audio/transcriptions", transcription("whisper", b"RIFF"), headers=FORM
        )
        for _ in range(5):
            assert (await gateway.ask(request)).header("x-proa-engine") == "aux"


# routes, end to end


OFFICE = RoutingSpec(
    routes=(
        RouteSpec(
            name="faq",
            match=MatchSpec(path="/api/faq"),
            rewrite_path="/v1/chat/completions",
            model="small",
            prefer=("aux",),
            overflow=("main",),
        ),
        RouteSpec(name="team", match=MatchSpec(headers=(("x-team", "law"),)), prefer=("main",)),
        RouteSpec(
            name="short", match=MatchSpec(max_input_tokens=50), prefer=("aux",), overflow=("main",)
        ),
        RouteSpec(
            name="good",
            match=MatchSpec(path="/v1/good"),
            rewrite_path="/v1/completions",
            min_quality=3.8,
        ),
    ),
    models=(ModelSpec(name="small", quality=3.0), ModelSpec(name="big", quality=4.0)),
)


def said(text: str, **fields: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text}]} | fields


@pytest.mark.parametrize(
    ("request_", "engine", "route"),
    [
        (json_request(said("짧은 질문", model="anything"), "/api/faq?x=1"), "aux", "faq"),
        (json_request(said("short", model="small")), "aux", "short"),
        (json_request(said("짧은 질문", model="small")), "aux", "short"),
        (json_request(said("long " * 200, model="big")), "main", "default"),
        (json_request(said("short", model="big"), headers=(("x-team", "law"),)), "main", "team"),
        (json_request({"prompt": "long " * 200, "model": "big"}, "/v1/good"), "main", "good"),
    ],
    ids=["path", "length", "korean", "long", "header", "quality"],
)
async def test_routes(request_: bytes, engine: str, route: str) -> None:
    async with (
        ScriptedEngine() as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=OFFICE) as gateway,
    ):
        gateway.see(models={"main": ["big", "small"], "aux": ["small"]})
        answer = await gateway.ask(request_)
        assert answer.status == 200
        assert answer.header("x-proa-engine") == engine
        assert f"route={route} " in str(answer.header("x-proa-decision"))
        assert gateway.records[0].route == route


async def test_a_rewritten_path_keeps_its_query_and_sets_the_model() -> None:
    async with (
        ScriptedEngine() as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=OFFICE) as gateway,
    ):
        gateway.see(models={"main": ["big", "small"], "aux": ["small"]})
        await gateway.ask(json_request(said("a", model="gpt-4o"), "/api/faq?trace=1"))
        received = aux.requests[0]
        assert received.target == "/v1/chat/completions?trace=1"
        assert received.json() == said("a", model="small")


async def test_below_the_minimum_quality_is_404() -> None:
    async with ScriptedEngine() as main, serving(main, routing=OFFICE) as gateway:
        gateway.see(models={"main": ["big", "small"]})
        answer = await gateway.ask(
            json_request({"prompt": "x " * 200, "model": "small"}, "/v1/good")
        )
        assert answer.status == 404
        assert b"minimum quality 3.8" in answer.body.data
        assert not main.requests


async def test_a_rewritten_path_answers_in_the_form_of_its_api() -> None:
    """`/api/…` would be Ollama's, but this route speaks OpenAI."""
    busy = json_reply("full", status=503)
    async with ScriptedEngine(lambda _: busy) as main, serving(main, routing=OFFICE) as gateway:
        gateway.see(models={"main": ["small"]})
        answer = await gateway.ask(json_request(said("a"), "/api/faq"))
        body = answer.body.json()
        assert isinstance(body, dict)
        assert set(body["error"]) == {"message", "type", "param", "code"}


async def test_overflow_by_own_requests() -> None:
    """Two go to the preferred engine, the others to the overflow."""
    route = RouteSpec(
        name="peak", prefer=("main",), overflow=("aux",), overflow_when=OverflowSpec(in_flight=2)
    )
    wait = json_reply({}).preceded_by(Stall())
    async with (
        ScriptedEngine(lambda _: wait) as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=RoutingSpec(routes=(route,))) as gateway,
    ):
        waiting = []
        for count in (1, 2):
            waiting.append(asyncio.ensure_future(gateway.ask(json_request({}))))
            await main.wait_running(count)
        for _ in range(5):
            assert (await gateway.ask(json_request({}))).header("x-proa-engine") == "aux"
        assert main.running == 2
        for ask in waiting:
            ask.cancel()
        await main.wait_aborted(2)
        await asyncio.gather(*waiting, return_exceptions=True)
