"""Probes over real sockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from tests.certificates import Pair, authority, server_context, signed

from proa.control.probing import EngineProbe, Silence
from proa.domain.fleet import EngineSpec, EngineTls
from proa.engines.base import Health
from proa.engines.sources import Probe, Reply
from proa.testing.ports import closed_port
from proa.testing.scripted_engine import ScriptedEngine

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
PROBE = Probe("/v2/repository/index", "POST", b"{}")


class Server:
    """Sends fixed bytes for each request, and closes at once where there are none."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.heads: list[bytes] = []
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                if b"POST" in head:
                    head += await reader.readexactly(2)
                self.heads.append(head)
                answer = self.answers.pop(0)
                if not answer:
                    return
                writer.write(answer)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(script: Server) -> AsyncIterator[str]:
    """The URL of a server on a port of its own."""
    server = await asyncio.start_server(script, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def ask(url: str, probe: Probe = PROBE) -> Reply | Silence:
    engine = EngineProbe(EngineSpec(name="e", url=url))
    try:
        return await engine.ask(probe)
    finally:
        await engine.close()


async def test_a_unix_socket(tmp_path: Path) -> None:
    server = Server(OK)
    async with await asyncio.start_unix_server(server, tmp_path / "engine.sock"):
        assert await ask(f"unix:{tmp_path}/engine.sock") == Reply(200, b"ok")
    (head,) = server.heads
    assert head.startswith(b"POST /v2/repository/index HTTP/1.1\r\n")
    assert head.endswith(b"\r\n\r\n{}")
    assert b"accept-encoding: identity" in head.lower()


async def test_a_missing_socket_is_down(tmp_path: Path) -> None:
    assert await ask(f"unix:{tmp_path}/none.sock") == Silence(Health.DOWN, "ENOENT")


async def test_a_closed_port_is_down() -> None:
    with closed_port() as port:
        assert await ask(f"http://127.0.0.1:{port}") == Silence(Health.DOWN, "ECONNREFUSED")


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_port() as port:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        async with serving(Server(OK)) as url:
            assert await ask(url) == Reply(200, b"ok")


async def test_a_kept_connection_that_the_engine_closed() -> None:
    """An engine that closes after each answer, without saying so."""
    script = Server(OK, b"", OK)
    async with serving(script) as url:
        engine = EngineProbe(EngineSpec(name="e", url=url))
        assert await engine.ask(PROBE) == Reply(200, b"ok")
        assert await engine.ask(PROBE) == Reply(200, b"ok")
        await engine.close()
    assert script.connections == 2


async def test_an_engine_that_closes_without_an_answer_is_down() -> None:
    async with serving(Server(b"", b"")) as url:
        assert await ask(url) == Silence(Health.DOWN, "connection closed without an answer")


async def test_a_redirect_is_not_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n"
    async with serving(Server(moved)) as url:
        assert await ask(url) == Reply(302, b"")


async def test_a_name_of_which_no_address_listens_is_down() -> None:
    """`localhost` may have an IPv6 and an IPv4 address."""
    with closed_port() as port:
        silence = await ask(f"http://localhost:{port}")
        assert silence == Silence(Health.DOWN, "ECONNREFUSED")


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
            b"abc",
        ),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc", b"abc"),
        (b"HTTP/1.0 200 OK\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", b"abc"),
    ],
)
async def test_answers_end_where_they_say(answer: bytes, reply: bytes) -> None:
    async with serving(Server(answer)) as url:
        assert await ask(url, Probe("/x")) == Reply(200, reply)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc",
        b"HTTP/1.1 200 OK\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ],
)
async def test_half_an_answer_is_none(answer: bytes) -> None:
    async with serving(Server(answer)) as url:  # and nothing when asked again
        silence = await ask(url, Probe("/x"))
    assert isinstance(silence, Silence)
    assert silence.health is Health.DOWN


async def test_questions_at_one_time_have_a_connection_each_and_keep_it() -> None:
    script = Server(*[OK] * 6)
    async with serving(script) as url:
        engine = EngineProbe(EngineSpec(name="e", url=url))
        for _ in range(2):
            replies = await asyncio.gather(*(engine.ask(PROBE) for _ in range(3)))
            assert replies == [Reply(200, b"ok")] * 3
        await engine.close()
    assert script.connections == 3


async def test_what_a_request_says() -> None:
    script = Server(OK)
    async with serving(script) as url:
        engine = EngineProbe(EngineSpec(name="e", url=url + "/base", api_key="secret"))
        await engine.ask(PROBE)
        await engine.close()
    head = script.heads[0].lower()
    assert head.startswith(b"post /base/v2/repository/index http/1.1\r\nhost: 127.0.0.1:")
    assert head.count(b"host:") == 1
    for name in ("authorization: bearer secret", "content-type: application/json"):
        assert name.encode() in head
    for name in ("content-length: 2", "accept-encoding: identity", "user-agent: proa"):
        assert name.encode() in head


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return authority(tmp_path_factory.mktemp("tls"), "ca")


async def tls_ask(context: ssl.SSLContext, tls: EngineTls) -> Reply | Silence:
    async with ScriptedEngine(tls=context) as script:
        engine = EngineProbe(EngineSpec(name="e", url=script.url, tls=tls))
        try:
            return await engine.ask(Probe("/health"))
        finally:
            await engine.close()


async def test_an_engine_behind_an_authority_of_its_own(ca: Pair) -> None:
    context = server_context(signed(ca, "engine"))
    reply = await tls_ask(context, EngineTls(ca_file=str(ca.certificate)))
    assert isinstance(reply, Reply)
    assert reply.status == 200


async def test_an_engine_that_is_not_trusted_is_down_with_its_reason(ca: Pair) -> None:
    silence = await tls_ask(server_context(signed(ca, "engine")), EngineTls())
    told = "TLS: the engine's certificate is not trusted: unable to get local issuer certificate"
    assert silence == Silence(Health.DOWN, told)


async def test_an_engine_that_wants_a_certificate_is_down_without_one(ca: Pair) -> None:
    context = server_context(signed(ca, "engine"), clients_of=ca)
    believed = EngineTls(ca_file=str(ca.certificate))
    silence = await tls_ask(context, believed)
    assert isinstance(silence, Silence)
    assert silence.health is Health.DOWN
    client = signed(ca, "client")
    known = msgspec.structs.replace(
        believed, cert_file=str(client.certificate), key_file=str(client.key)
    )
    assert isinstance(await tls_ask(context, known), Reply)


async def test_another_authority_counts_from_the_next_connection(ca: Pair) -> None:
    async with ScriptedEngine(tls=server_context(signed(ca, "engine"))) as script:
        spec = EngineSpec(name="e", url=script.url)
        engine = EngineProbe(spec)
        assert isinstance(await engine.ask(Probe("/health")), Silence)
        engine.take(msgspec.structs.replace(spec, tls=EngineTls(ca_file=str(ca.certificate))))
        assert isinstance(await engine.ask(Probe("/health")), Reply)
        await engine.close()


async def test_an_address_at_which_no_engine_is_gets_no_question() -> None:
    silence = await ask("http://169.254.169.254")
    told = "not connected: 169.254.169.254 is a link-local address"
    assert silence == Silence(Health.DOWN, told)
