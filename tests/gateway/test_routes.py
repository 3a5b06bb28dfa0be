"""Routes at work: classes, key names, adapters, contexts and other models of a route."""

import json
from random import Random

import msgspec
import pytest
from tests.gateway.harness import Gateway, key_spec, serving

from proa.domain.fleet import EngineState, EngineView, FleetView, ModelView
from proa.routing.classify.examples import generate
from proa.routing.classify.training import train
from proa.routing.spec import (
    ClassifierSpec,
    MatchSpec,
    PolicyName,
    RouteSpec,
    RoutingSpec,
)
from proa.telemetry.rows import Header
from proa.testing.raw_response import RawResponse, json_request
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Stall

FAQ = "도서관 운영 시간이 어떻게 되나요?"
REPORT = "Write a report on energy use of ten pages, with headings and a summary."


DOWN = json_reply({"error": "down"}, status=500)


def chat(text: str, **more: object) -> bytes:
    fields = {"model": "scripted", "messages": [{"role": "user", "content": text}]} | more
    return json_request(fields)


def with_header(request: bytes, line: bytes) -> bytes:
    return request.replace(b"\r\n", b"\r\n" + line + b"\r\n", 1)


def decided(answer: RawResponse) -> str:
    return answer.header("x-proa-decision") or ""


def see(gateway: Gateway, models: dict[str, list[ModelView]], away: str = "") -> None:
    """The engines with these models, ready but for `away`."""
    engines = tuple(
        EngineView(
            name=engine.name,
            kind=engine.kind,
            state=EngineState.UNREACHABLE if engine.name == away else EngineState.READY,
            models=tuple(models[engine.name]),
            models_known=True,
        )
        for engine in gateway.plane.fleet.engines
    )
    gateway.plane.apply_fleet(FleetView(gateway.plane.fleet.sequence + 1, engines))


def model(name: str, context_tokens: int | None = None, parent: str | None = None) -> ModelView:
    return ModelView(name, msgspec.Raw(b"{}"), context_tokens, parent)


CLASS_ROUTES = (
    RouteSpec(name="faq", match=MatchSpec(request_class="faq")),
    RouteSpec(name="report", match=MatchSpec(request_class="report")),
)


async def test_a_declared_class_chooses_the_route_and_is_kept_by_head() -> None:
    routing = RoutingSpec(routes=CLASS_ROUTES)
    async with ScriptedEngine() as engine, serving(engine, routing=routing) as gateway:
        declared = with_header(chat("hi"), b"X-Proa-Class: report")
        for request, route in ((declared, "report"), (chat(FAQ), "default"), (declared, "report")):
            assert decided(await gateway.ask(request)).startswith(f"route={route} ")


async def test_the_classifier_reads_the_last_message_of_the_user() -> None:
    content = msgspec.json.encode(train(list(generate(400, Random(1))), Random(1)))
    routing = RoutingSpec(routes=CLASS_ROUTES, classifier=ClassifierSpec(model=content))
    async with ScriptedEngine() as engine, serving(engine, routing=routing) as gateway:
        parts = [{"type": "image_url", "image_url": {}}, {"type": "text", "text": FAQ}]
        history = [
            {"role": "user", "content": REPORT},
            {"role": "assistant", "content": "Here it is."},
            {"role": "user", "content": parts},
        ]
        asked = (
            (chat(FAQ), "faq"),
            (chat(REPORT), "report"),
            (with_header(chat(FAQ), b"x-proa-class: report"), "report"),
            (chat("", messages=history), "faq"),
            (
                json_request({"model": "scripted", "prompt": REPORT}, "/v1/completions"),
                "report",
            ),
            (json_request({"model": "scripted"}), "default"),
        )
        for request, route in asked:
            assert decided(await gateway.ask(request)).startswith(f"route={route} "), request
        assert FAQ not in str(gateway.records)


async def test_a_route_of_a_tenant_is_for_its_keys() -> None:
    routing = RoutingSpec(routes=(RouteSpec(name="sales", match=MatchSpec(tenant="sales")),))
    keys = (key_spec("anna", "sk-1", tenant="sales"), key_spec("other", "sk-2"))
    async with ScriptedEngine() as engine, serving(engine, routing=routing, keys=keys) as gateway:
        for key, route in ((b"sk-1", "sales"), (b"sk-2", "default"), (b"sk-1", "sales")):
            answer = await gateway.ask(with_header(chat("hi"), b"Authorization: Bearer " + key))
            assert decided(answer).startswith(f"route={route} ")


async def test_max_tokens_and_adapters_are_matched_body_by_body() -> None:
    routing = RoutingSpec(
        routes=(
            RouteSpec(name="lora", match=MatchSpec(adapter="*")),
            RouteSpec(name="short", match=MatchSpec(max_tokens=100)),
            RouteSpec(name="long", match=MatchSpec(min_tokens=101)),
        )
    )
    async with ScriptedEngine() as engine, serving(engine, routing=routing) as gateway:
        see(gateway, {"main": [model("scripted"), model("law", parent="scripted")]})
        for fields, route in (
            ({"max_tokens": 100}, "short"),
            ({"max_completion_tokens": 101}, "long"),
            ({}, "default"),
            ({"model": "law", "max_tokens": 5}, "lora"),
        ):
            assert decided(await gateway.ask(chat("hi", **fields))).startswith(f"route={route} ")


async def test_a_prompt_that_fits_nowhere_is_a_client_error_before_any_engine() -> None:
    async with (
        ScriptedEngine() as main,
        ScriptedEngine() as aux,
        serving(main, aux) as gateway,
    ):
        see(gateway, {"main": [model("scripted", 100)], "aux": [model("scripted", 1000)]})
        answer = await gateway.ask(chat("word " * 3000))
        error = json.loads(answer.body.data)["error"]
        told = (answer.status, error["type"], error["code"])
        assert told == (400, "invalid_request_error", "context_length_exceeded")
        assert gateway.header(Header.REFUSED_NO_ENGINE) == 1
        assert main.requests == aux.requests == []
        assert (await gateway.ask(chat("word " * 300))).header("x-proa-engine") == "aux"
        assert (await gateway.ask(chat("word", max_tokens=500))).header("x-proa-engine") == "aux"
        assert (await gateway.ask(chat("word " * 3))).status == 200


async def test_another_model_answers_where_the_route_allows_it() -> None:
    routing = RoutingSpec(routes=(RouteSpec(name="r", fallback_models=("small",)),))
    async with (
        ScriptedEngine([DOWN]) as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=routing) as gateway,
    ):
        models = {"main": [model("scripted")], "aux": [model("small")]}
        see(gateway, models)
        answer = await gateway.ask(chat("hi", seed=18446744073709551615))
        assert answer.status == 200
        assert decided(answer).endswith("via=any fallback=small")
        body = bytes(aux.requests[0].body)
        assert json.loads(body)["model"] == "small"
        assert b"18446744073709551615" in body
        see(gateway, models, away="main")
        assert decided(await gateway.ask(chat("hi"))).endswith("fallback=small")
        assert (await gateway.ask(chat("hi", model="typo"))).status == 404


async def test_what_waits_for_a_hung_engine_goes_on_to_the_other_model() -> None:
    routing = RoutingSpec(routes=(RouteSpec(name="r", fallback_models=("small",)),))
    hung = ScriptedEngine([Reply((Stall(),))])
    async with hung, ScriptedEngine() as aux, serving(hung, aux, routing=routing) as gateway:
        models = {"main": [model("scripted")], "aux": [model("small")]}
        see(gateway, models)
        async with gateway.client() as client:
            await client.send(chat("hi"))
            await hung.wait_running(1)
            gateway.advance(1.0)
            see(gateway, models, away="main")
            gateway.advance(0.25)
            answer = await client.read_response()
        assert (answer.status, answer.header("x-proa-engine")) == (200, "aux")
        assert decided(answer).endswith("fallback=small")


@pytest.mark.parametrize("route", [{}, {"fallback_models": ("small",)}])
async def test_a_retry_on_another_model_costs_as_much_as_any_retry(
    route: dict[str, tuple[str, ...]],
) -> None:
    """One engine after the one that failed with the body; not a third."""
    routing = RoutingSpec(routes=(RouteSpec(name="r", **route),))  # type: ignore[arg-type]
    async with (
        ScriptedEngine([DOWN]) as main,
        ScriptedEngine([DOWN]) as aux,
        serving(main, aux, routing=routing) as gateway,
    ):
        see(gateway, {"main": [model("scripted")], "aux": [model("small")]})
        answer = await gateway.ask(chat("hi"))
        assert answer.status in (500, 502)
        assert len(main.requests) + len(aux.requests) == (2 if route else 1)


async def test_a_session_keeps_its_engine() -> None:
    routing = RoutingSpec(policy=PolicyName.SESSION)
    async with (
        ScriptedEngine() as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=routing) as gateway,
    ):
        seen: dict[str, str | None] = {}
        for number in range(24):
            session = f"s{number % 8}"
            asked = chat("hi", user=session) if number % 2 else chat("hi")
            line = b"X-Session-Id: " + session.encode()
            answer = await gateway.ask(asked if number % 2 else with_header(asked, line))
            engine = answer.header("x-proa-engine")
            assert seen.setdefault(session, engine) == engine
        assert set(seen.values()) == {"main", "aux"}


async def test_a_long_prompt_goes_where_its_beginning_went() -> None:
    routing = RoutingSpec(policy=PolicyName.PREFIX_AFFINITY)
    async with (
        ScriptedEngine() as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=routing) as gateway,
    ):
        for document in ("가나다라 " * 4000, "lorem ipsum " * 4000, "1234567 " * 4000):
            engines = {
                (await gateway.ask(chat(f"{document} question {n}"))).header("x-proa-engine")
                for n in range(6)
            }
            assert len(engines) == 1
