"""The first event decides before the status is sent: an overload in band is a failure (G33)."""

import asyncio
import json
import re

import pytest
from tests.engines.recorded import recorded
from tests.gateway.apis import APIS, CHAT, StreamingApi
from tests.gateway.harness import serving
from tests.gateway.routes import MAIN_FIRST

from proa.telemetry.rows import Engine
from proa.testing.raw_response import json_request
from proa.testing.replies import Framing, body_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply, Reset, Send, Stall, WaitFor

api_cases = pytest.mark.parametrize("api", APIS.values(), ids=APIS)
RECORDED_OVERLOADS = {
    "vllm/err_admission_stream": "The engine is currently busy",
    "sglang/err_queue_full_stream": "The request queue is full.",
}


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


@api_cases
async def test_an_overload_as_first_event_goes_to_the_other_engine(api: StreamingApi) -> None:
    full = always(api.reply(*api.preamble, api.overload, *api.ending))
    good = always(api.reply())
    async with full, good, serving(full, good, routing=MAIN_FIRST) as gateway:
        answer = await gateway.ask(api.request)
        assert answer.status == 200
        assert answer.body.data == api.whole
        assert answer.header("x-proa-engine") == "aux"
        assert len(full.requests) == 1
        assert [(r.outcome, r.retries) for r in gateway.records] == [("ok", 1)]


@api_cases
async def test_an_overload_without_another_engine_has_its_real_status(api: StreamingApi) -> None:
    full = always(api.reply(*api.preamble, api.overload, *api.ending))
    async with full, serving(full) as gateway:
        answer = await gateway.ask(api.request)
        assert answer.status == 503
        assert answer.header("retry-after") == "1"
        assert answer.header("content-type") == "application/json"
        assert re.search("full|busy|queue", answer.body.data.decode())
        assert gateway.records[0].outcome == "busy"


@pytest.mark.parametrize("name", RECORDED_OVERLOADS)
async def test_recorded_overloads(name: str) -> None:
    body = recorded(name).body.rstrip(b"\n") + b"\n\n"
    full = always(body_reply([body], content_type="text/event-stream", framing=Framing.CHUNKED))
    good = always(CHAT.reply())
    async with full, good, serving(full, good, routing=MAIN_FIRST) as gateway:
        assert (await gateway.ask(CHAT.request)).body.data == CHAT.whole
    async with full, serving(full) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.status == 503
        error = json.loads(answer.body.data)["error"]
        assert error["code"] == 503
        assert error["message"].startswith(RECORDED_OVERLOADS[name])


@pytest.mark.parametrize("framing", Framing)
async def test_an_overload_in_every_framing(framing: Framing) -> None:
    full = always(CHAT.reply(CHAT.overload, CHAT.ending[-1], framing=framing))
    async with full, serving(full) as gateway:
        assert (await gateway.ask(CHAT.request)).status == 503


async def test_a_client_fault_as_first_event_is_passed_on_and_not_retried() -> None:
    event = {"error": {"message": "too long", "type": "invalid_request_error", "code": 400}}
    engine, other = always(sse_reply([event])), always(CHAT.reply())
    async with engine, other, serving(engine, other, routing=MAIN_FIRST) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.status == 400
        assert answer.body.json() == event
        assert not other.requests


@api_cases
async def test_the_preamble_is_held(api: StreamingApi) -> None:
    """The engine breaks after it; had any of it gone out, there could be no other try."""
    broken = always(api.reply(*api.preamble, Reset()))
    good = always(api.reply())
    async with broken, good, serving(broken, good, routing=MAIN_FIRST) as gateway:
        answer = await gateway.ask(api.request)
        assert answer.body.data == api.whole
        assert len(broken.requests) == 1
        assert gateway.engine("main", Engine.BROKEN_STREAMS) == 0


async def test_preamble_and_first_content_go_out_together_and_at_once() -> None:
    go_on = asyncio.Event()
    engine = always(CHAT.reply(*CHAT.preamble, CHAT.content[0], WaitFor(go_on), *CHAT.ending))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        await client.read_head()
        held = b"".join((*CHAT.preamble, CHAT.content[0]))
        got = b""
        while len(got) < len(held):
            got += await client.read_chunk()
        assert got == held
        go_on.set()
        assert (await client.read_chunk()).startswith(CHAT.ending[0])


@pytest.mark.parametrize(
    "parts",
    [
        [CHAT.ending[-1]],
        [*CHAT.preamble, CHAT.ending[-1]],
        [],
        [b": only\n\n", b": comments\n\n"],
    ],
    ids=["done", "role and done", "nothing", "comments"],
)
async def test_an_end_without_content_is_a_failure(parts: list[bytes]) -> None:
    empty = always(CHAT.reply(*parts) if parts else sse_reply([], done=False))
    good = always(CHAT.reply())
    async with empty, good, serving(empty, good, routing=MAIN_FIRST) as gateway:
        assert (await gateway.ask(CHAT.request)).body.data == CHAT.whole
        assert len(empty.requests) == 1
    async with empty, serving(empty) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.status == 502
        assert gateway.records[0].outcome == "broken"


async def test_an_empty_answer_with_a_finish_reason_is_an_answer() -> None:
    engine = always(CHAT.reply(*CHAT.preamble, *CHAT.ending))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.status == 200
        assert answer.body.data == b"".join((*CHAT.preamble, *CHAT.ending))


async def test_more_than_64_kib_of_preamble_commit() -> None:
    comment = b": " + b"x" * 1020 + b"\n\n"
    engine = always(CHAT.reply(Send(comment, times=65), Stall()))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        assert (await client.read_head()).status == 200
        got = b""
        while len(got) < 65 * len(comment):
            got += await client.read_chunk()
        assert got == comment * 65


async def test_content_and_error_in_one_read_commit_and_break() -> None:
    parts = b"".join((CHAT.content[0], CHAT.overload, CHAT.ending[-1]))
    engine, other = always(CHAT.reply(parts, Close())), always(CHAT.reply(parts, Close()))
    async with engine, other, serving(engine, other, routing=MAIN_FIRST) as gateway:
        answer = await gateway.ask(CHAT.request)
        assert answer.status == 200
        assert answer.body.data == CHAT.content[0] + CHAT.overload
        assert not answer.body.complete
        assert not other.requests


async def test_a_json_error_in_place_of_a_stream_keeps_its_status() -> None:
    engine = always(body_reply([recorded("llamacpp/err_too_long_stream").body], status=400))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(json_request({"model": "scripted", "stream": True}))
        assert answer.status == 400
        assert answer.body.data == recorded("llamacpp/err_too_long_stream").body
