"""Attacks by an engine: split and smuggled answers, redirects; and by the environment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.attacks.gateways import echo, innocent
from tests.attacks.register import resisted
from tests.gateway.harness import serving

from proa.control.probing import EngineProbe
from proa.domain.fleet import EngineSpec
from proa.engines.sources import Probe, Reply
from proa.testing.ports import closed_port
from proa.testing.raw_response import request_bytes
from proa.testing.scripted_engine import ScriptedEngine

ASK = request_bytes("/v1/completions", b'{"model":"scripted","prompt":"victim"}')
OK = b"HTTP/1.1 200 OK\r\n"
EVIL = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nx-evil: yes\r\n\r\nevil"


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """An engine that sends these bytes for every read."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


SPLIT = {
    "CR in a value": OK + b"x: a\rx-evil: yes\r\ncontent-length: 0\r\n\r\n",
    "LF in a value": OK + b"x: a\nx-evil: yes\r\ncontent-length: 0\r\n\r\n",
    "NUL in a value": OK + b"x: a\0b\r\ncontent-length: 0\r\n\r\n",
    "a folded value": OK + b"x: a\r\n x-evil: yes\r\ncontent-length: 0\r\n\r\n",
    "a space before the colon": OK + b"x-evil : yes\r\ncontent-length: 0\r\n\r\n",
    "CR in the reason": b"HTTP/1.1 200 O\rK\r\ncontent-length: 0\r\n\r\n",
    "two lengths": OK + b"content-length: 0\r\ncontent-length: 4\r\n\r\nevil",
    "a length and chunks": OK + b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "a signed length": OK + b"content-length: +4\r\n\r\nevil",
    "5000 digits": OK + b"content-length: " + b"0" * 5000 + b"4\r\n\r\nevil",
    "a broken chunk": OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "an upgrade": b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
}


@resisted("Response splitting by an engine's headers", 502)
@pytest.mark.parametrize("name", SPLIT)
async def test_response_splitting(name: str) -> None:
    async with answering(SPLIT[name]) as url, serving(url) as gateway, gateway.client() as client:
        await client.send(ASK)
        answer = await client.read_response()
        assert answer.status == 502
        assert answer.header("x-evil") is None
        await gateway.until_idle()
        assert not gateway.plane.dispatcher.links[0].idle


@resisted("A second answer behind an engine's first (poisoned connections)", 200, 502)
async def test_an_answer_too_many_reaches_nobody() -> None:
    first = OK + b"content-length: 5\r\n\r\nfirst"
    async with answering(first + EVIL) as url, serving(url) as gateway:
        for _ in range(5):
            answer = await gateway.ask(ASK)
            assert answer.status in (200, 502)
            assert answer.header("x-evil") is None
            assert b"evil" not in answer.body.data


@resisted("Redirects of engines: passed to the client, followed by nobody", 302)
async def test_redirects_are_not_followed() -> None:
    async with ScriptedEngine(echo) as target:
        moved = b"HTTP/1.1 302 Found\r\nlocation: %b/x\r\ncontent-length: 0\r\n\r\n"
        async with answering(moved % target.url.encode()) as url, serving(url) as gateway:
            assert (await gateway.ask(ASK)).status == 302
            probe = EngineProbe(EngineSpec(name="e", url=url))
            assert await probe.ask(Probe("/health")) == Reply(302, b"")
            await probe.close()
        assert target.connections_made == 0


@resisted("Proxies of the environment: not used for engines", 200)
async def test_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_port() as port:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        async with ScriptedEngine(echo) as engine, serving(engine) as gateway:
            await innocent(gateway)
