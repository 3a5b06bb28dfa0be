"""Engines behind TLS: certificates are checked, and an end without close_notify is a cut."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from tests.certificates import Pair, authority, server_context, signed
from tests.gateway.apis import CHAT
from tests.gateway.harness import engine_spec, serving

from proa.domain.fleet import EngineTls
from proa.testing.raw_response import json_request
from proa.testing.replies import Framing, body_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Stall, WaitFor

ASK = json_request({"model": "scripted", "messages": []})


class Files:
    """Two authorities, a certificate of 127.0.0.1, and one of a client."""

    def __init__(self, folder: Path) -> None:
        self.ca, self.other_ca = authority(folder, "ca"), authority(folder, "other")
        self.engine, self.client = signed(self.ca, "engine"), signed(self.ca, "client")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def trusted(files: Files, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The engine's context; the system trusts its authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(files.ca.certificate))
    return server_context(files.engine)


def believes(ca: Pair, client: Pair | None = None, digest: str = "") -> EngineTls:
    pair = (str(client.certificate), str(client.key)) if client else ("", "")
    return EngineTls(
        ca_file=str(ca.certificate), cert_file=pair[0], key_file=pair[1], digest=digest
    )


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


async def test_an_engine_that_is_not_trusted_gets_no_request(files: Files) -> None:
    engine = tls_engine(None, server_context(files.engine))
    async with engine, serving(engine) as gateway:
        answer = await gateway.ask(ASK)
        assert answer.status == 502
        assert b"can't be reached" in answer.body.data
        assert not engine.requests


async def test_an_engine_of_another_name_gets_no_request(trusted: ssl.SSLContext) -> None:
    async with tls_engine(None, trusted) as engine:
        spec = engine_spec(f"https://127.0.0.2:{engine.port}", "main")
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


async def test_an_engines_own_authority_is_believed_and_no_other(files: Files) -> None:
    async with tls_engine(None, server_context(files.engine)) as engine:
        spec = engine_spec(engine, "main", tls=believes(files.ca))
        async with serving(spec) as gateway:
            assert (await gateway.ask(ASK)).status == 200
        spec = engine_spec(engine, "main", tls=believes(files.other_ca))
        async with serving(spec) as gateway:
            answer = await gateway.ask(ASK)
            assert answer.status == 502
            assert b"certificate verify failed" in answer.body.data
        assert len(engine.requests) == 1


async def test_the_name_in_the_address_is_that_of_the_certificate(files: Files) -> None:
    async with tls_engine(None, server_context(files.engine)) as engine:
        url = f"https://localhost:{engine.port}"
        async with serving(engine_spec(url, "main", tls=believes(files.ca))) as gateway:
            assert (await gateway.ask(ASK)).status == 200


async def test_an_engine_asks_for_the_gateways_certificate(files: Files) -> None:
    context = server_context(files.engine, clients_of=files.ca)
    async with tls_engine(None, context) as engine:
        for client, status in ((files.client, 200), (None, 502)):
            spec = engine_spec(engine, "main", tls=believes(files.ca, client))
            async with serving(spec) as gateway:
                assert (await gateway.ask(ASK)).status == status
        assert len(engine.requests) == 1


async def test_another_authority_counts_for_new_connections(files: Files) -> None:
    """A reload while a stream runs: the stream ends well, its connection is not used again."""
    gate = asyncio.Event()
    slow = CHAT.reply(*CHAT.content[:1], WaitFor(gate), *CHAT.content[1:], *CHAT.ending)
    engine = ScriptedEngine([slow], tls=server_context(files.engine))
    async with engine:
        spec = engine_spec(engine, "main", tls=believes(files.ca))
        async with serving(spec) as gateway, gateway.client() as client:
            await client.send(CHAT.request)
            await client.read_until(CHAT.content[0])
            settings = gateway.plane.settings
            for ca, digest in ((files.other_ca, "1"), (files.ca, "2")):
                changed = msgspec.structs.replace(spec, tls=believes(ca, digest=digest))
                gateway.apply(msgspec.structs.replace(settings, engines=(changed,)))
                gateway.see()
                wanted = 502 if ca is files.other_ca else 200
                assert (await gateway.ask(ASK)).status == wanted
            gate.set()
            assert CHAT.content[-1] in await client.read_until(b"0\r\n\r\n")
            assert (await gateway.ask(ASK)).status == 200
            await gateway.until_idle()
        assert engine.connections_made == 2


async def test_files_that_are_gone_cost_no_more_than_the_connections(files: Files) -> None:
    gone = EngineTls(ca_file=f"{files.ca.certificate}.gone")
    async with ScriptedEngine(tls=server_context(files.engine)) as engine, ScriptedEngine() as aux:
        async with serving(engine_spec(engine, "main", tls=gone), aux) as gateway:
            for _ in range(4):
                assert (await gateway.ask(ASK)).status == 200
        assert len(aux.requests) == 4
