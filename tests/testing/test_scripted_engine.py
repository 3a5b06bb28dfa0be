"""The scripted engine does what its scripts say, on sockets, and sees what its clients do."""

import asyncio
from pathlib import Path

import pytest

from proa.testing.chat import chat_events
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import RawResponse, json_request, request_bytes
from proa.testing.received import ReceivedRequest
from proa.testing.replies import (
    Framing,
    body_reply,
    informational,
    json_reply,
    large_headers,
    raw_reply,
    scattered,
    sse_reply,
)
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import (
    Close,
    PauseReading,
    Reply,
    Reset,
    Send,
    Signal,
    Stall,
    WaitFor,
)

CHAT = json_request({"model": "m", "messages": []})


async def ask(url: str, request: bytes = CHAT) -> RawResponse:
    async with RawClient.connect(url) as client:
        await client.send(request)
        return await client.read_response()


async def test_replies_are_used_in_order_and_then_the_default() -> None:
    async with ScriptedEngine([json_reply({"n": 1}), json_reply({"n": 2}, status=503)]) as engine:
        first, second, third = [await ask(engine.url) for _ in range(3)]
    assert first.body.json() == {"n": 1}
    assert (second.status, second.body.json()) == (503, {"n": 2})
    assert b"Hello from a script." in third.body.data
    assert (engine.finished, engine.aborted, engine.running) == (3, 0, 0)


async def test_a_function_decides_by_the_request() -> None:
    def script(request: ReceivedRequest) -> Reply:
        return json_reply({"path": request.path, "key": request.header("X-Key")})

    async with ScriptedEngine(script) as engine:
        request = request_bytes("/v1/a?b=1", b"{}", headers=[("x-key", "k")])
        assert (await ask(engine.url, request)).body.json() == {"path": "/v1/a", "key": "k"}


async def test_the_default_streams_when_asked() -> None:
    async with ScriptedEngine() as engine:
        response = await ask(engine.url, json_request({"stream": True}))
    assert response.header("content-type") == "text/event-stream"
    assert len(response.body.chunks) == len(chat_events()) + 1
    assert response.body.chunks[-1] == b"data: [DONE]\n\n"


async def test_control_requests_disturb_nothing() -> None:
    async with ScriptedEngine([json_reply(1)], models=["a", "b"]) as engine:
        models = await ask(engine.url, request_bytes("/v1/models", method="GET"))
        missing = await ask(engine.url, request_bytes("/version", method="GET"))
        answer = await ask(engine.url)
    assert b'"id":"b"' in models.body.data
    assert missing.status == 404
    assert answer.body.json() == 1
    assert (len(engine.requests), len(engine.control_requests)) == (1, 2)
    assert engine.peak_running == 1


async def test_the_body_is_recorded_without_framing() -> None:
    async with ScriptedEngine() as engine:
        await ask(engine.url, request_bytes("/x", chunks=[b"ab", b"c"], headers=[("X-A", "1")]))
    [request] = engine.requests
    assert (request.method, bytes(request.body), request.complete) == ("POST", b"abc", True)
    assert (b"X-A", b"1") in request.headers
    assert request.raw.endswith(b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
    assert engine.violations == []


@pytest.mark.parametrize(
    ("request_head", "violation"),
    [
        (b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n", "0 Host headers"),
        (b"GET http://a/ HTTP/1.1\r\nhost: a\r\n\r\n", "origin form"),
        (b"GET / HTTP/1.1\r\nhost : a\r\n\r\n", "HttpParser"),
        (b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "in 1.0"),
    ],
)
async def test_bad_requests_are_recorded(request_head: bytes, violation: str) -> None:
    async with ScriptedEngine() as engine:
        await ask(engine.url, request_head)
    assert violation in " ".join(engine.violations)


async def test_pipelined_requests_are_answered_in_order_and_recorded() -> None:
    engine = ScriptedEngine([json_reply(1), json_reply(2)])
    async with engine, RawClient.connect(engine.url) as client:
        await client.send(CHAT + CHAT)
        answers = [(await client.read_response()).body.json() for _ in range(2)]
    assert answers == [1, 2]
    assert engine.violations == ["/v1/chat/completions: pipelined"]


@pytest.mark.parametrize("leave", ["close", "reset", "half_close"])
async def test_a_client_that_leaves_is_seen_at_once(leave: str) -> None:
    engine = ScriptedEngine([raw_reply(Stall())])
    async with engine, RawClient.connect(engine.url) as client:
        await client.send(CHAT)
        await engine.wait_running(1)
        getattr(client, leave)()
        await engine.wait_aborted(1, timeout_s=1.0)
        await engine.wait_connections(0)
    assert engine.running == 0


async def test_a_client_that_leaves_during_its_upload_counts_as_aborted() -> None:
    async with ScriptedEngine() as engine:
        async with RawClient.connect(engine.url) as client:
            await client.send(CHAT[:-1])
            await engine.wait_running(1)
            assert engine.requests[0].complete is False
        await engine.wait_aborted(1)


async def test_each_event_is_sent_without_waiting_for_the_next() -> None:
    gate = asyncio.Event()
    engine = ScriptedEngine([sse_reply(["one", WaitFor(gate), "two"])])
    async with engine, RawClient.connect(engine.url) as client:
        await client.send(CHAT)
        head = await client.read_head()
        assert await client.read_chunk() == b"data: one\n\n"
        gate.set()
        body = await client.read_body(head)
    assert body.chunks == (b"data: two\n\n", b"data: [DONE]\n\n")


@pytest.mark.parametrize(("step", "end"), [(Close(), "FIN"), (Reset(), "RST")])
async def test_a_reply_can_be_cut(step: Close | Reset, end: str) -> None:
    script = [sse_reply(["one", step], done=False)]
    async with ScriptedEngine(script) as engine, RawClient.connect(engine.url) as client:
        await client.send(CHAT)
        head = await client.read_head()
        body = await client.read_body(head)
        assert (body.data, body.complete) == (b"data: one\n\n", False)
        assert await client.end() == end
        assert (engine.finished, engine.aborted) == (1, 0)


async def test_a_counted_body_can_be_cut_at_any_byte() -> None:
    reply = json_reply({"text": "0123456789"})
    size = sum(len(step.data) for step in reply.steps if isinstance(step, Send))
    async with ScriptedEngine([reply.first_bytes(size - 5, Close())]) as engine:
        response = await ask(engine.url)
    assert response.body.data == b'{"text":"0123456'
    assert response.body.complete is False


async def test_the_silent_close_comes_after_a_whole_reply() -> None:
    engine = ScriptedEngine([json_reply(1).closing()])
    async with engine, RawClient.connect(engine.url) as client:
        await client.send(CHAT)
        response = await client.read_response()
        assert (response.body.complete, response.header("connection")) == (True, None)
        assert await client.end() == "FIN"


async def test_framings_trailers_interim_heads_and_large_headers() -> None:
    trailed = body_reply([b"ab", b"c"], framing=Framing.CHUNKED, trailers=[("x-sum", "9")])
    script = [
        trailed.preceded_by(informational(103, [("link", "</a>")])),
        json_reply({}, framing=Framing.UNTIL_CLOSE),
        json_reply({}, headers=large_headers(12 * 1024)),
        raw_reply(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"),
    ]
    async with ScriptedEngine(script) as engine:
        first, second, third = [await ask(engine.url) for _ in range(3)]
        async with RawClient.connect(engine.url) as client:
            await client.send(CHAT)
            twice = await client.read_head()
    assert first.interim[0].status == 103
    assert (first.body.chunks, first.body.trailers) == ((b"ab", b"c"), (("x-sum", "9"),))
    assert (second.body.data, second.header("content-length")) == (b"{}", None)
    assert 12_000 < len(third.head.raw) < 14_000
    assert twice.header_values("content-length") == ["1", "2"]


async def test_scattered_bytes_are_the_same_bytes() -> None:
    events = [{"n": i, "text": "가나다"} for i in range(20)]
    async with ScriptedEngine([sse_reply(events), scattered(sse_reply(events), seed=4)]) as engine:
        whole, cut = [await ask(engine.url) for _ in range(2)]
    assert cut.body == whole.body


async def test_a_slow_reader_holds_the_engine_back() -> None:
    sent_all = asyncio.Event()
    reply = body_reply([Send(b"x" * 65536, times=1000), Signal(sent_all)], framing=Framing.CHUNKED)
    async with ScriptedEngine([reply]) as engine, RawClient.connect(engine.url) as client:
        await client.send(CHAT)
        head = await client.read_head()
        await engine.wait_until(lambda: engine.bytes_sent > 65536, "first bytes")
        assert not sent_all.is_set()
        assert len((await client.read_body(head)).data) == 65_536_000
        await asyncio.wait_for(sent_all.wait(), 5)


async def test_an_early_reply_and_an_unread_upload() -> None:
    gate = asyncio.Event()
    reply = json_reply({}, status=413).preceded_by(PauseReading(), WaitFor(gate)).closing()
    engine = ScriptedEngine([reply], answer_at_head=True)
    async with engine, RawClient.connect(engine.url) as client:
        await client.send(request_bytes("/", b"", headers=[("expect", "100-continue")])[:-4])
        await client.send(b"\r\n\r\n")
        await engine.wait_running(1)
        gate.set()
        response = await client.read_response()
    assert (response.status, response.interim[0].status) == (413, 100)


async def test_nothing_is_read_while_accepting_is_clear() -> None:
    async with ScriptedEngine() as engine, RawClient.connect(engine.url) as warm:
        await warm.send(CHAT)
        await warm.read_response()
        engine.accepting.clear()
        async with RawClient.connect(engine.url) as client:
            await client.send(CHAT)
            await engine.wait_connections(2)
            await warm.send(CHAT)
            await warm.read_response()
            assert len(engine.requests) == 2
            engine.accepting.set()
            assert (await client.read_response()).status == 200


async def test_it_stops_and_starts_again_at_its_address() -> None:
    async with ScriptedEngine([raw_reply(Stall())]) as engine:
        async with RawClient.connect(engine.url) as client:
            await client.send(CHAT)
            await engine.wait_running(1)
            await engine.stop()
            assert await client.end() == "RST"
        with pytest.raises(ConnectionRefusedError):
            await ask(engine.url)
        await engine.start()
        assert (await ask(engine.url)).status == 200


async def test_it_listens_on_a_unix_socket(tmp_path: Path) -> None:
    async with ScriptedEngine(unix_path=tmp_path / "engine.sock") as engine:
        assert (await ask(engine.url)).status == 200


async def test_an_error_in_a_script_reaches_the_test() -> None:
    def script(request: ReceivedRequest) -> Reply:
        raise LookupError(request.path)

    engine = ScriptedEngine(script)

    async def use() -> None:
        async with engine, RawClient.connect(engine.url) as client:
            await client.send(CHAT)
            assert await client.end() == "RST"

    with pytest.raises(LookupError, match="/v1/chat"):
        await use()
    assert engine.running == 0


async def test_a_wait_in_vain_tells_the_counts() -> None:
    async with ScriptedEngine() as engine:
        with pytest.raises(AssertionError, match=r"no running == 3 within 0\.01 s: 0 requests"):
            await engine.wait_running(3, timeout_s=0.01)
