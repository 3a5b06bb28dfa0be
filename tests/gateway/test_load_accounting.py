"""A request counts from its dispatch to its end, whatever the end is."""

import asyncio
from collections.abc import Callable

import pytest
from tests.gateway.harness import Gateway, key_spec, serving

from proa.domain.outcome import Outcome
from proa.gateway.settings import LimitsSettings
from proa.telemetry.rows import Engine, Header, Key
from proa.testing.ports import closed_port, hanging_port
from proa.testing.raw_response import RawResponse, json_request, request_bytes
from proa.testing.replies import Framing, body_reply, json_reply, raw_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply, Reset, Stall, WaitFor

ASK = json_request({"model": "scripted"})
STREAM = json_request({"model": "scripted", "stream": True})
EVENT = {"choices": [{"index": 0, "delta": {"content": "word"}}]}
KEY = ("authorization", "Bearer secret")


async def ask_all(gateway: Gateway, requests: list[bytes]) -> list[RawResponse]:
    return await asyncio.gather(*(gateway.ask(request) for request in requests))


@pytest.mark.parametrize("stream", [False, True])
async def test_upstream_timeouts_give_the_keys_places_back(stream: bool) -> None:
    """G11: https://github.com/BerriAI/litellm/issues/20256"""
    keys = (key_spec("team", "secret", max_concurrent_requests=10),)
    request = json_request({"model": "scripted", "stream": stream}, headers=[KEY])
    async with (
        ScriptedEngine([Reply((Stall(),))] * 10) as engine,
        serving(engine, keys=keys) as gateway,
    ):
        waiting = asyncio.ensure_future(ask_all(gateway, [request] * 10))
        await engine.wait_running(10)
        assert gateway.key("team", Key.IN_FLIGHT) == 10
        assert (await gateway.ask(request)).status == 429
        gateway.advance(310.0 if stream else 1801.0)
        assert [answer.status for answer in await waiting] == [504] * 10
        await engine.wait_running(0, timeout_s=1.0)
        assert gateway.key("team", Key.IN_FLIGHT) == 0
        assert (await gateway.ask(request)).status == 200


async def test_a_request_counts_before_its_first_byte() -> None:
    """G14: https://github.com/smg-project/smg/pull/1714"""
    gate = asyncio.Event()
    slow = json_reply({}).preceded_by(WaitFor(gate))
    async with (
        ScriptedEngine(lambda _: slow) as main,
        ScriptedEngine(lambda _: slow) as aux,
        serving(main, aux) as gateway,
    ):
        waiting = asyncio.ensure_future(ask_all(gateway, [ASK] * 20))
        await main.wait_running(10)
        await aux.wait_running(10)
        gate.set()
        await waiting
        assert (len(main.requests), len(aux.requests)) == (10, 10)


async def test_a_request_counts_before_its_connection_stands() -> None:
    """The same at the moment of dispatch: connects take their time, too."""
    async with ScriptedEngine() as main, ScriptedEngine() as aux, serving(main, aux) as gateway:
        main.accepting.clear()
        aux.accepting.clear()
        waiting = asyncio.ensure_future(ask_all(gateway, [ASK] * 20))
        await gateway.until(lambda: gateway.header(Header.OPEN_EXCHANGES) == 20)
        assert (gateway.in_flight("main"), gateway.in_flight("aux")) == (10, 10)
        main.accepting.set()
        aux.accepting.set()
        await waiting


async def test_requests_on_unknown_paths_count_too() -> None:
    """G15: https://github.com/vllm-project/router/issues/179"""
    gate = asyncio.Event()
    slow = json_reply({}).preceded_by(WaitFor(gate))
    request = request_bytes("/custom/infer", b'{"prompt":"' + b"same prefix " * 50 + b'"}')
    engines = [ScriptedEngine(lambda _: slow) for _ in range(8)]
    for engine in engines:
        await engine.start()
    try:
        async with serving(*engines) as gateway:
            waiting = asyncio.ensure_future(ask_all(gateway, [request] * 480))
            for engine in engines:
                await engine.wait_requests(60)
            gate.set()
            await waiting
            assert [len(engine.requests) for engine in engines] == [60] * 8
    finally:
        for engine in engines:
            await engine.stop()


ENDS: dict[str, tuple[Callable[[], Reply], bytes, Outcome, int]] = {
    "reset at once": (lambda: Reply((Reset(),)), ASK, Outcome.BROKEN, 502),
    "closed at once": (lambda: Reply((Close(),)), ASK, Outcome.BROKEN, 502),
    "half a head": (lambda: raw_reply(b"HTTP/1.1 200", Close()), ASK, Outcome.BROKEN, 502),
    "no HTTP": (lambda: raw_reply(b"SSH-2.0-OpenSSH_9\r\n"), ASK, Outcome.BROKEN, 502),
    "500": (lambda: json_reply({"error": "x"}, status=500), ASK, Outcome.BROKEN, 500),
    "503": (lambda: json_reply({"error": "x"}, status=503), ASK, Outcome.BUSY, 503),
    "429": (lambda: json_reply({"error": "x"}, status=429), ASK, Outcome.BUSY, 429),
    "400": (lambda: json_reply({"error": "x"}, status=400), ASK, Outcome.CLIENT_FAULT, 400),
    "half a body": (lambda: body_reply([b"{}"]).first_bytes(71, Close()), ASK, Outcome.BROKEN, 200),
    "half a stream": (lambda: sse_reply([EVENT, Reset()]), STREAM, Outcome.BROKEN, 200),
    "a stream without end": (lambda: sse_reply([EVENT], done=False), STREAM, Outcome.BROKEN, 200),
    "a body": (lambda: json_reply({}), ASK, Outcome.OK, 200),
    "a body until the end": (
        lambda: json_reply({}, framing=Framing.UNTIL_CLOSE), ASK, Outcome.OK, 200,
    ),
    "a stream": (lambda: sse_reply([EVENT]), STREAM, Outcome.OK, 200),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
async def test_every_end_of_a_request_is_counted_once(name: str) -> None:
    """G16: https://github.com/vllm-project/production-stack/pull/1040"""
    reply, request, outcome, status = ENDS[name]
    async with ScriptedEngine(lambda _: reply()) as engine, serving(engine) as gateway:

        async def one() -> int:
            async with gateway.client() as client:
                await client.send(request)
                head = await client.read_head()
                await client.read_body(head)
                return head.status

        statuses = await asyncio.gather(*(one() for _ in range(50)))
        await gateway.until_idle()
        assert statuses == [status] * 50
        assert gateway.in_flight("main") == 0
        counts = {o: gateway.engine("main", Engine.OUTCOME + o) for o in Outcome}
        assert {o: count for o, count in counts.items() if count} == {outcome: 50}
        assert gateway.histogram("main", Engine.DURATION_BUCKET) == 50
        assert {record.outcome for record in gateway.records} == {outcome.label}


async def test_connections_that_are_refused_are_counted_once() -> None:
    """G16 again: https://github.com/vllm-project/production-stack/pull/1040"""
    with closed_port() as port:
        async with serving(f"http://127.0.0.1:{port}") as gateway:
            answers = await ask_all(gateway, [ASK] * 50)
            assert [answer.status for answer in answers] == [502] * 50
            assert gateway.engine("main", Engine.OUTCOME + Outcome.BROKEN) == 50


async def test_a_connect_that_hangs_is_counted_once() -> None:
    limits = LimitsSettings(connect_timeout_s=3.0)
    with hanging_port() as port:
        async with serving(f"http://127.0.0.1:{port}", limits=limits) as gateway:
            waiting = asyncio.ensure_future(gateway.ask(ASK))
            await gateway.until(lambda: gateway.in_flight("main") == 1)
            gateway.advance(2.5)
            assert gateway.in_flight("main") == 1
            gateway.advance(1.0)
            assert gateway.in_flight("main") == 0
            assert (await waiting).status == 504


@pytest.mark.parametrize("count", [10**30, -5, "9" * 5000], ids=["huge", "negative", "endless"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_an_engines_absurd_usage_counts_nothing(count: int | str, streamed: bool) -> None:
    usage = b'"usage":{"prompt_tokens":%s,"completion_tokens":%s}' % ((str(count).encode(),) * 2)
    body = b'{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],' + usage + b"}"
    reply = body_reply([body], content_type="application/json")
    if streamed:
        event = b"data: " + body + b"\n\ndata: [DONE]\n\n"
        reply = body_reply([event], content_type="text/event-stream")
    async with ScriptedEngine(lambda _: reply) as engine, serving(engine) as gateway:
        assert (await gateway.ask(STREAM if streamed else ASK)).status == 200
        await gateway.until_idle()
        gateway.plane.sweep()
        assert gateway.records[0].outcome == "ok"
        assert gateway.engine("main", Engine.PROMPT_TOKENS) == 0
        assert gateway.engine("main", Engine.COMPLETION_TOKENS) == 0
