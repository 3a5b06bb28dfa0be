"""Engines behind TLS: certificates are checked, and an end without close_notify is a cut."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.gateway.apis import CHAT
from tests.gateway.harness import engine_spec, serving

from proa.testing.raw_response import json_request
from proa.testing.replies import Framing, body_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Stall

ASK = json_request({"model": "scripted", "messages": []})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that is its own authority; the key is in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=engine", "-addext",
            "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    certificate.write_bytes(certificate.read_bytes() + key.read_bytes())
    return certificate


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The engine's context; the gateway trusts the certificate."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return server_context(certificate)


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def tls_engine(reply: Reply | None, context: ssl.SSLContext) -> ScriptedEngine:
    return ScriptedEngine((lambda _: reply) if reply else None, tls=context)


@asynccontextmanager
async def cutting_wire(engine: ScriptedEngine, cut: asyncio.Event) -> AsyncIterator[str]:
    """An address that leads to the engine; setting `cut` ends its clients with a bare FIN."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        down, up = await asyncio.open_connection("127.0.0.1", engine.port)
        copies = [
            asyncio.ensure_future(copy(reader, up)),
            asyncio.ensure_future(copy(down, writer)),
        ]
        await cut.wait()
        for task in copies:
            task.cancel()
        up.close()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        cut.set()


async def test_a_trusted_engine_answers_and_its_connection_is_reused(
    trusted: ssl.SSLContext,
) -> None:
    async with tls_engine(None, trusted) as engine, serving(engine) as gateway:
        for _ in range(3):
            assert (await gateway.ask(ASK)).status == 200
            answer = await gateway.ask(CHAT.request)
            assert (answer.status, answer.body.complete) == (200, True)
        assert engine.connections_made == 1


async def test_an_engine_that_is_not_trusted_gets_no_request(certificate: Path) -> None:
    engine = tls_engine(None, server_context(certificate))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(ASK)
        assert answer.status == 502
        assert b"can't be reached" in answer.body.data
        assert not engine.requests


async def test_an_engine_of_another_name_gets_no_request(trusted: ssl.SSLContext) -> None:
    async with tls_engine(None, trusted) as engine:
        spec = engine_spec(f"https://localhost:{engine.port}", "main")
        async with serving(spec) as gateway:
            assert (await gateway.ask(ASK)).status == 502
            assert not engine.requests


async def test_an_answer_until_close_is_whole_with_close_notify(trusted: ssl.SSLContext) -> None:
    reply = body_reply([b'{"text":', b'"whole"}'], framing=Framing.UNTIL_CLOSE)
    async with tls_engine(reply, trusted) as engine, serving(engine) as gateway:
        answer = await gateway.ask(ASK)
        assert (answer.body.data, answer.body.complete) == (b'{"text":"whole"}', True)
        assert gateway.records[0].outcome == "ok"


async def test_an_answer_until_close_is_cut_without_close_notify(trusted: ssl.SSLContext) -> None:
    reply = body_reply([b'{"text":', Stall()], framing=Framing.UNTIL_CLOSE)
    cut = asyncio.Event()
    async with (
        tls_engine(reply, trusted) as engine,
        cutting_wire(engine, cut) as url,
        serving(url) as gateway,
        gateway.client() as client,
    ):
        await client.send(ASK)
        await client.read_until(b'{"text":')
        cut.set()
        assert b"0\r\n\r\n" not in await client.read_until_end()
        await gateway.until_idle()
        assert gateway.records[0].outcome == "broken"


async def test_a_stream_is_cut_without_close_notify(trusted: ssl.SSLContext) -> None:
    reply = CHAT.reply(*CHAT.content, Stall(), framing=Framing.UNTIL_CLOSE)
    cut = asyncio.Event()
    async with (
        tls_engine(reply, trusted) as engine,
        cutting_wire(engine, cut) as url,
        serving(url) as gateway,
        gateway.client() as client,
    ):
        await client.send(CHAT.request)
        await client.read_until(CHAT.content[-1])
        cut.set()
        assert b"closed the connection" in await client.read_until_end()
