"""Attacks on a gateway that runs as it does for users: admin API, certificates, a crowd."""

import asyncio
import resource
import socket
import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.attacks.gateways import USER, innocent, under_attack
from tests.attacks.register import resisted
from tests.certificates import Pair, authority, server_context, signed
from tests.cli.serving import Serving

from proa.gateway.settings import TlsSettings
from proa.gateway.tls import server_context as gateway_context
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.scripted_engine import ScriptedEngine

CROWD = 10_000
ASK = json_request({"model": "scripted", "messages": []})
SSRF: list[dict[str, Any]] = [
    {"url": "http://169.254.169.254/latest/meta-data"},
    {"url": "http://[fe80::1]:80"},
    {"url": "http://[::ffff:169.254.169.254]"},
    {"url": "http://[64:ff9b::a9fe:a9fe]"},
    {"url": "http://2852039166"},
    {"url": "http://0xa9fea9fe"},
    {"url": "http://0251.0376.0251.0376"},
    {"url": "http://0.0.0.0:8081"},
    {"url": "http://[::]:8081"},
    {"url": "http://224.0.0.1"},
    {"url": "http://255.255.255.255"},
    {"url": "http://127.0.0.1@169.254.169.254"},
    {"url": "http://h#@169.254.169.254"},
    {"url": "unix:/var/run/docker.sock"},
    {"url": "file:///etc/passwd"},
    {"url": "gopher://127.0.0.1:6379/_FLUSHALL"},
    {"url": "http://h:1", "metrics_url": "http://169.254.169.254/"},
    {"url": "http://h:1", "kv_events": "tcp://169.254.169.254:80"},
    {"url": "http://h:1", "kv_events": "ipc:///var/run/docker.sock"},
    {"url": "https://h:1", "tls": {"ca_file": "/etc/passwd"}},
    {"url": "http://h:1", "api_key_env": "HOME"},
    {"url": "http://10.0.0.1"},
]
FILE = """\
[gateway]
listen = "127.0.0.1:0"
[control]
listen = "127.0.0.1:0"
poll_interval_s = 0.1
engine_networks = ["127.0.0.0/8"]
[limits]
head_timeout_s = 300
max_connections = 11000
[logs]
requests = false
[[engines]]
name = "plain"
url = "{plain}"
[[engines]]
name = "tls"
url = "{tls}"
tls = {{ ca_file = "trusted.pem", cert_file = "client.pem", key_file = "client.key" }}
"""


def said(status: dict[str, Any], name: str) -> tuple[str, str]:
    """State and detail of an engine."""
    engine = next(engine for engine in status["engines"] if engine["name"] == name)
    return engine["state"], engine["detail"] or ""


@resisted("SSRF by the address of an engine over the admin API", 400)
@resisted("An engine with another certificate than its authority's", "unreachable")
@resisted("10,000 idle connections", 200)
async def test_a_siege(tmp_path: Path) -> None:
    ca, other = authority(tmp_path, "ca"), authority(tmp_path, "other")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(ca.certificate.read_bytes())
    signed(ca, "client")
    context = server_context(signed(ca, "engine"), clients_of=ca)
    async with ScriptedEngine() as plain, ScriptedEngine(tls=context) as secret:
        file = tmp_path / "proa.toml"
        file.write_text(FILE.format(plain=plain.url, tls=secret.url))
        async with Serving([str(file)]) as serving:
            await forged_addresses(serving)
            await serving.until(lambda status: said(status, "tls")[0] == "ready")
            await other_authority(serving, trusted, other)
            await serving.until(lambda status: said(status, "plain")[0] == "ready")
            await crowd(serving)


async def forged_addresses(serving: Serving) -> None:
    async with httpx.AsyncClient(base_url=serving.control_url, trust_env=False) as client:
        for number, entry in enumerate(SSRF):
            answer = await client.post("/admin/engines", json={"name": f"x{number}", **entry})
            assert (answer.status_code, entry) == (400, entry)
            assert "engine: " in answer.json()["error"]["message"]
        query = {"drain": "false", "api_key": "secret-in-the-url"}
        kind = {"content-type": "application/json"}
        answer = await client.delete("/admin/engines/tls", params=query, headers=kind)
        assert answer.status_code == 400
        action = await serving.line("admin action")
        while action["method"] != "DELETE":
            action = await serving.line("admin action")
        assert action["detail"] == "drain=false"
        assert all("secret-in-the-url" not in str(line) for line in serving.lines)
        engines = (await client.get("/admin/engines")).json()["engines"]
        assert [engine["name"] for engine in engines] == ["plain", "tls"]


async def other_authority(serving: Serving, trusted: Path, other: Pair) -> None:
    """The file's new content counts without a restart, and the old one again after it."""
    content = trusted.read_bytes()
    trusted.write_bytes(other.certificate.read_bytes())
    status = await serving.until(lambda status: said(status, "tls")[0] == "unreachable")
    assert said(status, "tls")[1].startswith("TLS: the engine's certificate is not trusted")
    trusted.write_bytes(content)
    await serving.until(lambda status: said(status, "tls")[0] == "ready")


async def crowd(serving: Serving) -> None:
    """Half of them have sent the beginning of a head, half of them nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CROWD + 500:
        pytest.skip(f"the hard limit of descriptors is {hard}, a crowd needs {CROWD + 500}")
    parts = urlsplit(serving.url)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for number in range(CROWD):
            idle = stack.enter_context(socket.create_connection((parts.hostname, parts.port), 30))
            if number % 2:
                idle.sendall(ASK[:20])
        await serving.until(lambda status: status["workers"][0]["connections"] >= CROWD)
        for _ in range(3):
            async with asyncio.timeout(2), RawClient.connect(serving.url) as client:
                await client.send(ASK)
                assert (await client.read_response()).status == 200


@resisted("A client without the certificate that `[tls] client_ca_file` asks for", "no answer")
async def test_clients_without_a_certificate_get_nothing(tmp_path: Path) -> None:
    ca, other = authority(tmp_path, "ca"), authority(tmp_path, "other")
    own, client, stranger = signed(ca, "proa"), signed(ca, "client"), signed(other, "stranger")
    tls = TlsSettings(
        cert_file=str(own.certificate),
        key_file=str(own.key),
        client_ca_file=str(ca.certificate),
    )
    request = request_bytes("/v1/completions", b"{}", headers=[USER, ("connection", "close")])
    async with under_attack(tls=gateway_context(tls)) as (gateway, engine):
        port = urlsplit(gateway.url).port
        for pair, answered in ((None, False), (stranger, False), (client, True)):
            context = ssl.create_default_context(cafile=str(ca.certificate))
            if pair is not None:
                context.load_cert_chain(pair.certificate, pair.key)
            got = b""
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
                writer.write(request)
                got = await reader.read()
                writer.close()
            except OSError:
                assert not answered
            assert got.startswith(b"HTTP/1.1 200 OK") == answered
            assert bool(got) == answered
        assert len(engine.requests) == 1


@resisted("Plain HTTP on a port that speaks TLS", "no answer")
async def test_plain_http_on_a_tls_port(tmp_path: Path) -> None:
    own = signed(authority(tmp_path, "ca"), "proa")
    tls = TlsSettings(cert_file=str(own.certificate), key_file=str(own.key))
    async with under_attack(tls=gateway_context(tls)) as (gateway, engine):
        async with RawClient.connect(gateway.url.replace("https", "http")) as client:
            await client.send(ASK)
            assert b"HTTP/1.1" not in await client.read_until_end()
        assert engine.requests == []


@resisted("Unknown and expired keys, one after another", 401)
async def test_wrong_keys() -> None:
    async with under_attack() as (gateway, engine):
        for wrong in (
            "",
            "x",
            "user ",
            "User",
            "user\xe9",
            "a" * 5000,
            "Bearer user",
            "user,admin",
        ):
            header = ("authorization", f"Bearer {wrong}")
            answer = await gateway.ask(request_bytes("/v1/completions", b"{}", headers=[header]))
            assert (answer.status, wrong) == (200 if wrong == "user " else 401, wrong)
        await innocent(gateway)
        assert len(engine.requests) == 2
