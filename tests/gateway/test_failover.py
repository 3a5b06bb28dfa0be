"""Another engine takes over before the first byte, within limits; the last try's answer goes on."""

import asyncio

import pytest
from tests.engines.recorded import recorded
from tests.gateway.apis import CHAT, OLLAMA, TRITON
from tests.gateway.harness import serving
from tests.gateway.routes import MAIN_FIRST, main_first

from proa.domain.fleet import EngineState
from proa.domain.outcome import Outcome
from proa.gateway.settings import LimitsSettings
from proa.routing.spec import BreakerSpec
from proa.telemetry.rows import Engine
from proa.testing.ports import closed_port, hanging_port
from proa.testing.raw_response import json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import Framing, body_reply, json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply, Reset, Send, Stall

ASK = json_request({"model": "scripted", "messages": []})
FRAIL = BreakerSpec(failures=1000)  # not what is tested here


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


def error(status: int, **headers: str) -> Reply:
    body = {"error": {"message": f"status {status}", "code": status}}
    return json_reply(body, status=status, headers=tuple(headers.items()))


BEFORE_THE_FIRST_BYTE = {
    "reset": Reply((Reset(),)),
    "closed": Reply((Close(),)),
    "half a head": Reply((Send(b"HTTP/1.1 200 OK\r\ncontent-"), Reset())),
    "garbage": Reply((Send(b"SSH-2.0-OpenSSH_9.2\r\n"),)),
    "large head": Reply((Send(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000),)),
    "503": error(503),
    "429": error(429),
    "500": error(500),
    "502": error(502),
    "504": error(504),
    "408": error(408),
    "503 cut": error(503).first_bytes(150, Close()),
}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
@pytest.mark.parametrize("reply", BEFORE_THE_FIRST_BYTE.values(), ids=list(BEFORE_THE_FIRST_BYTE))
async def test_the_other_engine_takes_over(reply: Reply, stream: bool) -> None:
    bad, good = always(reply), ScriptedEngine()
    async with bad, good, serving(bad, good, routing=MAIN_FIRST) as gateway:
        answer = await gateway.ask(CHAT.request if stream else ASK)
        assert answer.status == 200
        assert answer.body.complete
        assert answer.header("x-proa-engine") == "aux"
        assert (len(bad.requests), len(good.requests)) == (1, 1)
        assert bytes(bad.requests[0].body) == bytes(good.requests[0].body)
        assert [(r.outcome, r.retries, r.engine) for r in gateway.records] == [("ok", 1, "aux")]
        assert gateway.engine("main", Engine.RETRIES) == 1


async def test_a_refused_connection_goes_to_the_other_engine() -> None:
    with closed_port() as port:
        async with ScriptedEngine() as good:
            url = f"http://127.0.0.1:{port}"
            async with serving(url, good, routing=MAIN_FIRST) as gateway:
                for _ in range(20):
                    assert (await gateway.ask(ASK)).status == 200
                assert len(good.requests) == 20


async def test_a_connect_that_hangs_is_given_up_after_3_s() -> None:
    with hanging_port() as port:
        async with ScriptedEngine() as good:
            url = f"http://127.0.0.1:{port}"
            async with serving(url, good, routing=MAIN_FIRST) as gateway:
                ask = asyncio.ensure_future(gateway.ask(ASK))
                await gateway.until(lambda: gateway.in_flight("main") == 1)
                gateway.advance(2.9)
                assert gateway.in_flight("main") == 1
                gateway.advance(0.2)
                assert (await ask).status == 200
                assert gateway.in_flight("main") == 0
            async with serving(url) as gateway:
                ask = asyncio.ensure_future(gateway.ask(ASK))
                await gateway.until(lambda: gateway.in_flight("main") == 1)
                gateway.advance(3.1)
                answer = await ask
                assert answer.status == 504
                assert b"connecting took too long" in answer.body.data


async def test_nobody_listens_anywhere() -> None:
    with closed_port() as one, closed_port() as two:
        urls = (f"http://127.0.0.1:{one}", f"http://127.0.0.1:{two}")
        async with serving(*urls) as gateway:
            answer = await gateway.ask(ASK)
            assert answer.status == 502
            assert b"can't be reached" in answer.body.data


async def test_a_busy_engine_is_tried_elsewhere_and_not_blamed() -> None:
    async with (
        always(error(503)) as busy,
        ScriptedEngine() as good,
        serving(busy, good, routing=MAIN_FIRST) as gateway,
    ):
        for _ in range(8):
            assert (await gateway.ask(ASK)).status == 200
        assert 1 <= len(busy.requests) <= 8  # fewer: one that refuses gets less for a while
        assert gateway.engine("main", Engine.BREAKER) == 0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 415, 422])
async def test_other_statuses_are_passed_on(status: int) -> None:
    async with (
        always(error(status)) as first,
        ScriptedEngine() as other,
        serving(first, other, routing=MAIN_FIRST) as gateway,
    ):
        answer = await gateway.ask(ASK)
        assert answer.status == status
        assert b"status %d" % status in answer.body.data
        assert not other.requests


@pytest.mark.parametrize("status", [401, 404, 418, 500, 503])
async def test_g67_a_route_names_the_statuses_to_fall_back_on(status: int) -> None:
    routing = main_first(fallback_on=frozenset((status,)))
    async with (
        always(error(status)) as first,
        ScriptedEngine() as other,
        serving(first, other, routing=routing) as gateway,
    ):
        answer = await gateway.ask(ASK)
        assert (answer.status, answer.header("x-proa-engine")) == (200, "aux")


async def test_g67_statuses_that_the_route_does_not_name_are_passed_on() -> None:
    routing = main_first(fallback_on=frozenset((401,)))
    async with (
        always(error(503)) as first,
        ScriptedEngine() as other,
        serving(first, other, routing=routing) as gateway,
    ):
        answer = await gateway.ask(ASK)
        assert answer.status == 503
        assert not other.requests


async def test_g67_a_connection_that_fails_falls_back_whatever_the_list() -> None:
    routing = main_first(fallback_on=frozenset((401,)))
    async with (
        always(Reply((Reset(),))) as first,
        ScriptedEngine() as other,
        serving(first, other, routing=routing) as gateway,
    ):
        assert (await gateway.ask(ASK)).status == 200


async def test_g67_a_stream_that_breaks_before_content_falls_back_whatever_the_list() -> None:
    routing = main_first(fallback_on=frozenset((401,)))
    async with (
        always(CHAT.reply(*CHAT.preamble, Reset())) as first,
        ScriptedEngine() as other,
        serving(first, other, routing=routing) as gateway,
    ):
        assert (await gateway.ask(CHAT.request)).header("x-proa-engine") == "aux"


async def test_g67_an_error_in_a_stream_counts_as_its_status() -> None:
    routing = main_first(fallback_on=frozenset((503,)))
    async with (
        always(CHAT.reply(CHAT.overload, CHAT.ending[-1])) as first,
        ScriptedEngine() as other,
        serving(first, other, routing=routing) as gateway,
    ):
        assert (await gateway.ask(CHAT.request)).header("x-proa-engine") == "aux"


async def test_the_last_tries_answer_goes_on() -> None:
    first = always(error(503, **{"retry-after": "7"}))
    second = always(error(429, **{"retry-after": "9"}))
    async with first, second, serving(first, second, routing=MAIN_FIRST) as gateway:
        answer = await gateway.ask(ASK)
        assert answer.status == 429
        assert answer.header("retry-after") == "9"
        assert answer.body.json() == {"error": {"message": "status 429", "code": 429}}
        assert answer.header("x-proa-engine") == "aux"


async def test_at_most_one_failover_after_the_body_was_sent() -> None:
    engines = [always(error(503)) for _ in range(4)]
    async with engines[0], engines[1], engines[2], engines[3], serving(*engines) as gateway:
        for sent in (2, 4, 6):
            assert (await gateway.ask(ASK)).status == 503
            assert sum(len(engine.requests) for engine in engines) == sent


async def test_connects_that_fail_do_not_count_as_failover() -> None:
    with closed_port() as one, closed_port() as two:
        async with always(Reply((Reset(),))) as bad, ScriptedEngine() as good:
            urls = (f"http://127.0.0.1:{one}", f"http://127.0.0.1:{two}")
            async with serving(*urls, bad, good) as gateway:
                for _ in range(10):
                    assert (await gateway.ask(ASK)).status == 200


async def test_two_engines_broken_by_one_body_are_enough() -> None:
    engines = [always(Reply((Reset(),))) for _ in range(3)]
    async with engines[0], engines[1], engines[2], serving(*engines) as gateway:
        answer = await gateway.ask(ASK)
        assert answer.status == 502
        assert b"two engines failed on this request" in answer.body.data
        assert sum(len(engine.requests) for engine in engines) == 2
        assert gateway.records[0].outcome == "broken"


async def test_two_engines_broken_by_one_stream_are_enough() -> None:
    crash = CHAT.reply(*CHAT.preamble, Reset())
    engines = [always(crash) for _ in range(3)]
    async with engines[0], engines[1], engines[2], serving(*engines) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.status == 502
        assert sum(len(engine.requests) for engine in engines) == 2


async def test_the_retry_budget_bounds_retries() -> None:
    """retries <= 10 + share x requests; without one the first failure is the answer."""
    routing = main_first(breaker=FRAIL)
    async with always(error(500)) as bad, ScriptedEngine() as good:
        async with serving(bad, good, routing=routing, retry_budget=0.1) as gateway:
            answers = []
            for _ in range(60):
                answers.append(await gateway.ask(ASK))
                gateway.advance(0.25)  # the sweep fills the budget
            retried = [answer.status for answer in answers].count(200)
            assert 15 <= retried <= 16
            assert len(good.requests) == retried
            assert {answer.status for answer in answers[20:]} == {200, 500}
        async with serving(bad, good, routing=routing, retry_budget=0.0) as gateway:
            answers = [await gateway.ask(ASK) for _ in range(20)]
            assert [answer.status for answer in answers].count(200) == 10


@pytest.mark.parametrize("framing", Framing)
async def test_g68_a_plain_text_error_is_told_in_the_apis_form(framing: Framing) -> None:
    text = "upstream connect error: 모두 바쁨"
    reply = body_reply([text.encode()], content_type="text/plain", status=503, framing=framing)
    async with always(reply) as engine, serving(engine) as gateway:
        answer = await gateway.ask(ASK)
        assert answer.status == 503
        assert answer.header("content-type") == "application/json"
        body = answer.body.json()
        assert isinstance(body, dict)
        assert body["error"]["message"] == text
        assert set(body["error"]) == {"message", "type", "param", "code"}
        anthropic = await gateway.ask(json_request({"model": "scripted"}, "/v1/messages"))
        assert anthropic.body.json() == {
            "type": "error",
            "error": {"type": "overloaded_error", "message": text},
        }
        for api in (OLLAMA, TRITON):
            assert (await gateway.ask(api.request)).body.json() == {"error": text}


async def test_an_html_error_page_and_an_empty_one_are_told_too() -> None:
    page = body_reply([b"<html>502 Bad Gateway</html>\n"], content_type="text/html", status=502)
    empty = body_reply([], content_type="text/plain", status=500)
    async with ScriptedEngine([page, empty]) as engine, serving(engine) as gateway:
        assert b"<html>502 Bad Gateway</html>" in (await gateway.ask(ASK)).body.data
        answer = await gateway.ask(ASK)
        assert answer.status == 500
        assert b"the engine gave no reason" in answer.body.data


async def test_recorded_refusals_keep_their_bytes() -> None:
    for name in ("vllm/err_admission_503", "sglang/err_queue_full_503", "vllm/err_unknown_model"):
        seen = recorded(name)
        async with (
            always(body_reply([seen.body], status=seen.status)) as engine,
            serving(engine) as gateway,
        ):
            answer = await gateway.ask(ASK)
            assert (answer.status, answer.body.data) == (seen.status, seen.body)


async def test_an_error_without_an_end_is_cut_at_64_kib() -> None:
    reply = body_reply([Send(b"x" * 1000, times=100), Stall()], status=500, framing=Framing.CHUNKED)
    async with always(reply) as engine, serving(engine) as gateway:
        answer = await gateway.ask(ASK)
        assert answer.status == 500
        assert 60_000 < len(answer.body.data) < 70_000
        await engine.wait_aborted(1)


async def test_retry_after_of_other_answers_is_passed_on() -> None:
    for status in (200, 202, 400):
        async with (
            always(error(status, **{"retry-after": "7"})) as engine,
            serving(engine) as gateway,
        ):
            for _ in range(3):
                assert (await gateway.ask(ASK)).header("retry-after") == "7"


async def test_g52_no_engine_ready_is_503_and_the_model_stays_known() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        gateway.see(states={"main": EngineState.UNREACHABLE})
        answer = await gateway.ask(ASK)
        assert answer.status == 503
        assert answer.header("retry-after") is not None
        gateway.see()
        assert (await gateway.ask(ASK)).status == 200


async def test_g54_an_engine_that_leaves_before_its_first_byte() -> None:
    limits = LimitsSettings(first_byte_timeout_s=5.0)
    async with (
        always(Reply((Stall(),))) as leaving,
        ScriptedEngine() as other,
        serving(leaving, other, routing=MAIN_FIRST, limits=limits) as gateway,
    ):
        ask = asyncio.ensure_future(gateway.ask(CHAT.request))
        await leaving.wait_running(1)
        gateway.see(states={"main": EngineState.UNREACHABLE})
        await leaving.stop()
        answer = await ask
        assert (answer.status, answer.header("x-proa-engine")) == (200, "aux")


async def test_a_retry_sends_each_engine_its_own_key_and_head() -> None:
    def refuse(request: ReceivedRequest) -> Reply:
        return error(503)

    async with (
        ScriptedEngine(refuse) as first,
        ScriptedEngine() as other,
        serving(first, other, routing=MAIN_FIRST) as gateway,
    ):
        await gateway.ask(ASK)
        assert first.requests[0].header("host") == first.url.removeprefix("http://")
        assert other.requests[0].header("host") == other.url.removeprefix("http://")
        ids = {e.requests[0].header("x-request-id") for e in (first, other)}
        assert len(ids) == 1


async def test_what_waits_for_an_engine_that_became_unreachable_goes_to_the_other() -> None:
    """A hung engine: nothing has come from it, and the control plane can't reach it either."""
    hung, good = always(Reply((Stall(),))), ScriptedEngine()
    async with hung, good, serving(hung, good, routing=MAIN_FIRST) as gateway:
        async with gateway.client() as client:
            await client.send(ASK)
            await hung.wait_running(1)
            gateway.advance(1.0)
            assert not good.requests
            gateway.see(states={"main": EngineState.UNREACHABLE})
            gateway.advance(0.25)
            assert (await client.read_response()).header("x-proa-engine") == "aux"
        await hung.wait_aborted(1)


async def test_what_waits_for_the_only_engine_goes_on_waiting() -> None:
    hung = always(Reply((Stall(),)))
    async with hung, serving(hung) as gateway, gateway.client() as client:
        await client.send(ASK)
        await hung.wait_running(1)
        gateway.see(states={"main": EngineState.UNREACHABLE})
        gateway.advance(0.25)
        assert hung.running == 1


async def test_an_engine_that_refuses_quickly_does_not_look_free() -> None:
    """It has nothing in flight; it is asked now and then, not first for every request."""
    full = always(error(503))
    async with full, ScriptedEngine() as good, serving(full, good) as gateway:
        for _ in range(60):
            await gateway.ask(CHAT.request)
        assert gateway.engine("main", Engine.OUTCOME + Outcome.BUSY) <= 20
