"""Sizes, numbers and times that a client may not exceed, and those that it may."""

import asyncio
import random
import socket
import tracemalloc

import pytest
from tests.gateway.harness import Gateway, serving

from proa.gateway.connection import ClientConnection
from proa.gateway.request_body import RequestBody
from proa.gateway.settings import LimitsSettings
from proa.telemetry.rows import Header
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import body_reply, json_reply, large_headers, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Send, WaitFor

ASK = json_request({"model": "scripted"})
GET = b"GET /v1/models HTTP/1.1\r\nhost: a\r\n"
CHUNKED = b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"


async def arrived(gateway: Gateway, size: int) -> None:
    """Wait until the gateway holds so much of a head or a body."""

    def held() -> int:
        pending = sum(len(connection._pending) for connection in gateway.plane.connections)
        return pending + gateway.header(Header.BODY_BYTES)

    await gateway.until(lambda: held() >= size, f"{size} bytes")


# sizes


async def test_a_streamed_answer_has_no_limit() -> None:
    """G88: https://github.com/envoyproxy/ai-gateway/issues/494"""
    limits = LimitsSettings(max_body_bytes=1000, body_budget_bytes=2000)
    event = {"choices": [{"index": 0, "delta": {"content": "x" * 50_000}}]}
    reply = sse_reply([event] * 100)
    sent = b"".join(chunk_data(reply))
    async with ScriptedEngine([reply]) as engine, serving(engine, limits=limits) as gateway:
        answer = await gateway.ask(json_request({"model": "scripted", "stream": True}))
        assert len(sent) > 5_000_000
        assert answer.body.complete
        assert answer.body.data == sent


def chunk_data(reply: Reply) -> list[bytes]:
    """The data of the chunks that a reply sends."""
    sends = [step.data for step in reply.steps[1:-1] if isinstance(step, Send)]
    return [data.partition(b"\r\n")[2][:-2] for data in sends]


async def test_a_large_answer_has_no_limit() -> None:
    body = random.Random(1).randbytes(5_000_000)
    reply = body_reply([body], content_type="application/octet-stream")
    limits = LimitsSettings(max_body_bytes=1000, body_budget_bytes=2000)
    async with ScriptedEngine([reply]) as engine, serving(engine, limits=limits) as gateway:
        assert (await gateway.ask(ASK)).body.data == body


@pytest.mark.parametrize(("size", "status"), [(12 * 1024, 200), (63 * 1024, 200), (70_000, 502)])
async def test_answer_heads_up_to_64_kib_pass(size: int, status: int) -> None:
    """G91: https://github.com/maximhq/bifrost/issues/4264"""
    headers = large_headers(size)
    reply = json_reply({"ok": True}, headers=headers)
    async with ScriptedEngine([reply]) as engine, serving(engine) as gateway:
        answer = await gateway.ask(ASK)
        assert answer.status == status
        if status == 200:
            assert set(headers) <= set(answer.head.headers)


@pytest.mark.parametrize(("size", "status"), [(60_000, 200), (66_000, 431)])
async def test_request_heads_up_to_the_limit_pass(size: int, status: int) -> None:
    headers = large_headers(size)
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        answer = await gateway.ask(request_bytes("/x", b"1", headers=headers))
        assert answer.status == status
        if status == 200:
            got = engine.requests[0].headers
            assert {(name.encode(), value.encode()) for name, value in headers} <= set(got)


@pytest.mark.parametrize("size", [1000, 1001])
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_up_to_the_limit_passes(size: int, chunked: bool) -> None:
    limits = LimitsSettings(max_body_bytes=1000)
    body = b"b" * size
    request = request_bytes("/x", body, chunks=[body[:700], body[700:]] if chunked else None)
    async with ScriptedEngine() as engine, serving(engine, limits=limits) as gateway:
        async with gateway.client() as client:
            await client.send(request)
            answer = await client.read_response()
            assert answer.status == (200 if size == 1000 else 413)
            if chunked and size > 1000:  # its end was not read
                assert answer.header("connection") == "close"
                assert await client.end() == "FIN"
            else:
                await client.send(request_bytes("/x", b"next"))
                assert (await client.read_response()).status == 200
        bodies = [bytes(request.body) for request in engine.requests if request.body != b"next"]
        assert bodies == ([body] if size == 1000 else [])


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_client_in_the_middle_of_too_large_a_body_can_read_the_refusal(
    chunked: bool,
) -> None:
    limits = LimitsSettings(max_body_bytes=100_000)
    piece = b"10000\r\n" + b"b" * 65_536 + b"\r\n" if chunked else b"b" * 65_536
    counted = b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999\r\n\r\n"
    head = CHUNKED if chunked else counted

    async def send_on(client: RawClient) -> None:
        await client.send(head)
        for _ in range(100):
            await client.send(piece)

    async with (
        ScriptedEngine() as engine,
        serving(engine, limits=limits) as gateway,
        gateway.client() as client,
    ):
        sending = asyncio.ensure_future(send_on(client))
        answer = await client.read_response()
        assert answer.status == 413
        assert "limits.max_body_bytes" in answer.body.data.decode()
        assert await client.end() == "FIN"
        await sending
        assert gateway.header(Header.BODY_BYTES) == 0


async def test_bodies_beyond_the_budget_wait_and_go_on() -> None:
    limits = LimitsSettings(body_budget_bytes=100_000)
    body = b"b" * 80_000
    gate = asyncio.Event()
    slow = json_reply({}).preceded_by(WaitFor(gate))
    async with (
        ScriptedEngine([slow]) as engine,
        serving(engine, limits=limits) as gateway,
        gateway.client() as first,
        gateway.client() as second,
    ):
        await first.send(request_bytes("/x", chunks=[body]))
        await engine.wait_running(1)
        assert gateway.header(Header.BODY_BYTES) == 80_000
        sending = asyncio.ensure_future(second.send(request_bytes("/x", chunks=[body] * 12)))
        await gateway.until(lambda: gateway.header(Header.BODY_BYTES) > 100_000)
        await gateway.until(lambda: any(c._paused_reading for c in gateway.plane.connections))
        gateway.advance(1.0)
        held = gateway.header(Header.BODY_BYTES)
        assert held < 700_000  # not all of the second body was taken
        gate.set()
        assert (await first.read_response()).status == 200
        await gateway.until(lambda: gateway.header(Header.BODY_BYTES) <= held - 80_000)
        sending.cancel()


async def test_a_body_beyond_the_budget_is_refused_in_the_end() -> None:
    limits = LimitsSettings(body_budget_bytes=100_000)
    async with ScriptedEngine() as engine, serving(engine, limits=limits) as gateway:
        async with gateway.client() as client:
            sending = asyncio.ensure_future(client.send(request_bytes("/x", b"b" * 5_000_000)))
            await gateway.until(lambda: any(c._paused_reading for c in gateway.plane.connections))
            gateway.advance(9.0)
            gateway.advance(2.0)
            answer = await client.read_response()
            assert answer.status == 503
            assert answer.header("retry-after")
            await sending
            assert await client.end() == "FIN"
        assert gateway.header(Header.BODY_BYTES) == 0
        assert engine.requests == []


# numbers


async def test_connections_above_the_limit_are_told_so() -> None:
    limits = LimitsSettings(max_connections=2)
    async with (
        ScriptedEngine() as engine,
        serving(engine, limits=limits) as gateway,
        gateway.client() as first,
        gateway.client() as second,
    ):
        for client in (first, second):
            await client.send(ASK)
            assert (await client.read_response()).status == 200
        async with gateway.client() as third:
            answer = await third.read_response()
            assert (answer.status, answer.header("retry-after")) == (503, "1")
            assert await third.end() == "FIN"
        assert gateway.header(Header.REFUSED_LIMIT) == 1
        first.close()
        await gateway.until(lambda: gateway.header(Header.CONNECTIONS) == 1)
        assert (await gateway.ask(ASK)).status == 200


async def test_connections_of_all_workers_count_together() -> None:
    limits = LimitsSettings(max_connections=3)
    async with ScriptedEngine() as engine, serving(engine, limits=limits) as gateway:
        gateway.rows.use(2)
        gateway.rows.rows[2][Header.CONNECTIONS] = 2
        gateway.plane.sweep()
        async with gateway.client() as first, gateway.client() as second:
            await first.send(ASK)
            assert (await first.read_response()).status == 200
            assert (await second.read_response()).status == 503


async def test_connections_of_one_client_above_the_limit_are_told_so() -> None:
    limits = LimitsSettings(max_connections_per_client=2)
    async with ScriptedEngine() as engine, serving(engine, limits=limits) as gateway:
        async with gateway.client() as first, gateway.client():
            await gateway.until(lambda: gateway.header(Header.CONNECTIONS) == 2)
            async with gateway.client() as third:
                answer = await third.read_response()
                assert (answer.status, answer.header("retry-after")) == (429, "1")
                assert await third.end() == "FIN"
            first.close()
            await gateway.until(lambda: gateway.header(Header.CONNECTIONS) == 1)
            assert (await gateway.ask(ASK)).status == 200
        await gateway.until_clear()
        assert gateway.plane._per_client == {}


# times


async def test_a_head_that_drips_in_is_refused() -> None:
    """Slowloris: each byte comes in time, the head does not."""
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        for count in range(1, 11):
            await client.send(GET[count - 1 : count])
            await arrived(gateway, count)
            gateway.advance(0.9)
        gateway.advance(0.9)
        gateway.advance(0.2)
        answer = await client.read_response()
        assert answer.status == 408
        assert answer.header("connection") == "close"
        assert await client.end() == "FIN"


async def test_a_head_that_comes_in_time_is_served() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        for _ in range(3):
            await client.send(GET)
            await arrived(gateway, len(GET))
            gateway.advance(9.0)
            await client.send(b"\r\n")
            assert (await client.read_response()).status == 200
            gateway.advance(9.0)


async def test_a_connection_that_never_asks_is_closed_without_a_word() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await gateway.until(lambda: gateway.header(Header.CONNECTIONS) == 1)
        gateway.advance(10.5)
        assert await client.end() == "FIN"


async def test_an_idle_connection_is_closed_without_a_word() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(ASK)
        assert (await client.read_response()).status == 200
        gateway.advance(74.0)
        await client.send(ASK)
        assert (await client.read_response()).status == 200
        gateway.advance(74.0)
        assert gateway.header(Header.CONNECTIONS) == 1
        gateway.advance(2.0)
        assert await client.end() == "FIN"


@pytest.mark.parametrize(
    "head", [CHUNKED, b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 99\r\n\r\n"]
)
async def test_a_body_that_drips_in_is_refused(head: bytes) -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(head)
        await gateway.until(lambda: gateway.header(Header.OPEN_EXCHANGES) == 1)
        for second in range(6):
            await client.send(b"1\r\nx\r\n")
            await arrived(gateway, second + 1)
            gateway.advance(0.9)
        answer = await client.read_response()
        assert answer.status == 408
        assert "limits.body_min_bytes_per_s" in answer.body.data.decode()
        assert await client.end() == "FIN"
        assert engine.requests == []


async def test_a_body_that_comes_fast_enough_is_served() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        request = request_bytes("/x", b"b" * 10_000)
        body_at = len(request) - 10_000
        await client.send(request[:body_at])
        for part in range(20):
            await client.send(request[body_at + part * 500 :][:500])
            if part < 19:
                await arrived(gateway, part * 500 + 500)
                gateway.advance(1.0)
        assert (await client.read_response()).status == 200


async def test_a_body_that_stops_coming_is_refused() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(request_bytes("/x", b"b" * 10_000)[:-5000])
        await arrived(gateway, 5000)
        gateway.advance(15.0)
        assert gateway.header(Header.OPEN_EXCHANGES) == 1
        gateway.advance(10.0)
        assert (await client.read_response()).status == 408


async def test_a_large_body_that_stops_coming_is_refused_as_soon() -> None:
    """What came fast pays for a short while only, or few clients could hold the whole budget."""
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(request_bytes("/x", b"b" * 2_000_000)[:-1])
        await arrived(gateway, 1_999_999)
        gateway.advance(0.25)
        gateway.advance(15.0)
        assert gateway.header(Header.OPEN_EXCHANGES) == 1
        gateway.advance(10.0)
        assert (await client.read_response()).status == 408


async def test_a_body_has_the_total_time_at_most() -> None:
    limits = LimitsSettings(total_timeout_s=60.0)
    async with (
        ScriptedEngine() as engine,
        serving(engine, limits=limits) as gateway,
        gateway.client() as client,
    ):
        await client.send(request_bytes("/x", b"b" * 1_000_000)[:-900_000])
        for part in range(1, 7):
            await client.send(b"b" * 5000)
            await arrived(gateway, 100_000 + part * 5000)
            gateway.advance(10.0)
        answer = await client.read_response()
        assert answer.status == 408
        assert "limits.total_timeout_s" in answer.body.data.decode()


async def test_a_body_is_held_once() -> None:
    async with serving() as gateway:
        body = RequestBody(8_000_000, gateway.plane, chunked=False)
        tracemalloc.start()
        try:
            for _ in range(80):
                body.feed(bytes(100_000))
            whole = body.joined()
            assert len(whole) == 8_000_000
            assert tracemalloc.get_traced_memory()[0] < 9_000_000
        finally:
            tracemalloc.stop()
        body.release()


async def test_a_client_that_reads_nothing_of_its_answer_is_cut() -> None:
    reply = body_reply([b"x" * 20_000_000], content_type="application/octet-stream")
    async with (
        ScriptedEngine([reply]) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        await client.send(ASK)
        await gateway.until(
            lambda: any(c.transport.get_write_buffer_size() for c in gateway.plane.connections)
        )
        for _ in range(20):
            await asyncio.sleep(0)
        gateway.advance(1.0)
        gateway.advance(59.0)
        assert gateway.header(Header.OPEN_EXCHANGES) == 1
        gateway.advance(2.0)
        await gateway.until_clear()
        await engine.wait_running(0, timeout_s=1.0)
        assert engine.bytes_sent < 20_000_000


@pytest.mark.parametrize("closing", [False, True])
async def test_a_client_that_reads_slowly_gets_all_of_its_answer(closing: bool) -> None:
    """The engine has ended long before, and neither idle nor linger time cuts the rest."""
    limits = LimitsSettings(keep_alive_s=5.0, linger_s=2.0)
    gate = asyncio.Event()
    reply = body_reply([Send(b"x" * 500_000), WaitFor(gate), Send(b"y" * 60_000)])
    headers = [("connection", "close")] if closing else []
    async with (
        ScriptedEngine([reply]) as engine,
        serving(engine, limits=limits) as gateway,
        gateway.client() as client,
    ):
        connection = await small_buffers(gateway, client)
        await client.send(request_bytes("/x", b"1", headers=headers))
        assert (await client.read_head()).status == 200
        unread = 560_000
        while engine.bytes_sent < 500_000 or paused(connection):
            unread -= len(await client.read_exactly(4096))
            await turns(20)
        gate.set()
        await gateway.until(lambda: bool(gateway.records))
        assert gateway.records[0].outcome == "ok"
        assert connection.transport.get_write_buffer_size() > 0
        for seconds in (0.25, 20.0, 20.0):
            gateway.advance(seconds)
        assert (await client.read_exactly(unread)).endswith(b"xy" + b"y" * 59_999)
        for seconds in (0.25, 6.0):
            gateway.advance(seconds)
        assert await client.end() == "FIN"


async def small_buffers(gateway: Gateway, client: RawClient) -> ClientConnection:
    """Let the kernel hold little between gateway and client; returns the gateway's side."""
    await gateway.until(lambda: len(gateway.plane.connections) == 1)
    (connection,) = gateway.plane.connections
    ours: socket.socket = connection.transport.get_extra_info("socket")
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    return connection


def paused(connection: ClientConnection) -> bool:
    exchange = connection.exchange
    return exchange is not None and exchange.attempt is not None and exchange.attempt.paused


async def turns(count: int) -> None:
    """Let the loop turn so often."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_an_engine_that_waits_for_a_slow_client_is_not_held_to_its_silence() -> None:
    body = random.Random(2).randbytes(30_000_000)
    reply = body_reply([body], content_type="application/octet-stream")
    async with (
        ScriptedEngine([reply]) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        await client.send(ASK)
        assert (await client.read_head()).status == 200
        received = b""
        while len(received) < len(body):
            gateway.advance(3.0)
            received += await client.read_exactly(min(500_000, len(body) - len(received)))
        assert received == body
        await gateway.until_idle()
        assert [record.outcome for record in gateway.records] == ["ok"]
