"""Reloads of `proa serve` under load: nothing is lost, and what changed counts at once."""

import asyncio
import signal
import ssl
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from shutil import which

import httpx
import pytest
from tests.cli.serving import Serving
from tests.gateway.closed_loop import ClosedLoop
from tests.gateway.supervised import refusal_of

from proa.config.keys_edit import add_key, revoke_key
from proa.testing.ports import closed_port
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request
from proa.testing.replies import sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import WaitFor

RELOADS = 100
CHAT = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
STREAM = json_request(CHAT | {"stream": True})


class File:
    """A proa.toml that is written again and again; `head` stays as it is."""

    def __init__(self, directory: Path, head: str = "") -> None:
        self.path = directory / "proa.toml"
        self.listen = "127.0.0.1:0"
        self.more = ""
        self.head = head
        self._directory = directory

    def write(self, *engines: ScriptedEngine, gateway: str = "", more: str = "") -> None:
        """A file that is whole whenever it is looked at."""
        text = f'[gateway]\nlisten = "{self.listen}"\n{gateway}\n'
        text += f'[control]\nlisten = "127.0.0.1:0"\npoll_interval_s = 0.1\n{self.head}\n'
        for number, engine in enumerate(engines):
            text += f'[[engines]]\nname = "e{number}"\nurl = "{engine.url}"\n'
        fresh = self._directory / "fresh"
        fresh.write_text(text + more)
        fresh.replace(self.path)


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path, head="[logs]\nrequests = false")


@pytest.fixture
def port() -> int:
    with closed_port() as port:
        pass
    return port


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_hundred_reloads_at_200_requests_a_second_fail_nothing(
    file: File, workers: int
) -> None:
    gate = asyncio.Event()
    async with AsyncExitStack() as stack:
        held = await stack.enter_async_context(
            ScriptedEngine([sse_reply(["one", WaitFor(gate), "two"])])
        )
        engine = await stack.enter_async_context(ScriptedEngine())
        file.write(held, gateway=f"workers = {workers}")
        serving = await stack.enter_async_context(Serving([str(file.path)]))
        old = await stack.enter_async_context(RawClient.connect(serving.url))
        await old.send(STREAM)
        await old.read_head()
        load = ClosedLoop(serving.url, connections=16, rate=200)
        async with load:
            for number in range(2, RELOADS + 2):
                # keys of routes and limits change each time; the first engine has gone
                file.write(engine, gateway=f"workers = {workers}", more=varied(number))
                serving.signal(signal.SIGHUP)
                assert (await serving.line("settings reloaded"))["generation"] == number
        assert load.failures == []
        assert load.ok >= RELOADS
        status = await serving.until(lambda _: True)
        assert [w["generation"] for w in status["workers"]] == [RELOADS + 1] * workers
        assert status["worker_restarts"] == 0
        gate.set()
        assert b"two" in await old.read_until(b"[DONE]")


async def reload(serving: Serving) -> None:
    """Without the wait until the changed file is noticed."""
    serving.signal(signal.SIGHUP)
    await serving.line("settings reloaded")


def varied(number: int) -> str:
    match = 'match = { path = "/v1/chat/completions" }'
    route = f'[[routes]]\nname = "r{number}"\n{match}\nprefer = ["e0"]\n'
    return f"{route}[limits]\nkeep_alive_s = {60 + number}\n"


async def test_a_bad_file_is_refused_and_the_metrics_say_so(file: File) -> None:
    async with ScriptedEngine() as engine:
        file.write(engine)
        async with Serving([str(file.path)]) as serving:
            success = "proa_config_last_reload_success"
            assert await serving.metric(success) == 1
            file.write(engine, more='[limits]\nlinger_s = "long"\n')
            refused = await serving.line("settings refused, the old ones stay")
            assert "limits.linger_s" in refused["error"]
            assert await serving.metric(success) == 0
            assert await serving.metric("proa_config_generation") == 1
            status = await serving.until(lambda _: True)
            assert "limits.linger_s" in status["last_reload"]["error"]
            file.write(engine)
            await serving.line("settings reloaded")
            assert await serving.metric(success) == 1
            assert await serving.metric("proa_config_generation") == 2


async def test_keys_engines_and_routes_change_live(file: File, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"

    async with AsyncExitStack() as stack:
        engines = [
            await stack.enter_async_context(ScriptedEngine(models=(f"m{n}", "scripted")))
            for n in range(3)
        ]
        file.write(*engines[:1])
        serving = await stack.enter_async_context(Serving([str(file.path)]))
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=serving.url, trust_env=False)
        )

        async def engine_of(path: str = "/v1/chat/completions", key: str = "") -> str:
            headers = {"authorization": f"Bearer {key}"} if key else {}
            answer = await client.post(path, json=CHAT, headers=headers)
            if answer.status_code != 200:
                return str(answer.status_code)
            return answer.headers["x-proa-engine"]

        async def models() -> set[str]:
            return {model["id"] for model in (await client.get("/v1/models")).json()["data"]}

        assert await engine_of() == "e0"
        assert await models() == {"m0", "scripted"}
        # engines come, with a route to one of them
        route = '[[routes]]\nname = "faq"\nmatch = { path = "/api/faq" }\n'
        route += 'rewrite_path = "/v1/chat/completions"\nprefer = ["e2"]\n'
        file.write(*engines, more=route)
        await reload(serving)
        await serving.until(
            lambda status: [engine["state"] for engine in status["engines"]] == ["ready"] * 3
        )
        assert await models() == {"m0", "m1", "m2", "scripted"}
        assert await engine_of("/api/faq") == "e2"
        # they go again, and their models with them
        file.write(*engines[:1])
        await reload(serving)
        assert await models() == {"m0", "scripted"}
        assert await engine_of() == "e0"
        # keys: a file of keys appears, a key is taken out of it
        first = add_key(keys, "first")
        file.write(*engines[:1], gateway='api_keys_file = "keys.toml"')
        await reload(serving)
        assert await engine_of() == "401"
        assert await engine_of(key=first) == "e0"
        second = add_key(keys, "second")
        revoke_key(keys, "first")
        await serving.line("settings reloaded")
        async with asyncio.timeout(10):
            while await engine_of(key=first) != "401":
                await asyncio.sleep(0.02)
        assert await engine_of(key=second) == "e0"


async def test_workers_and_address_change_under_load(file: File, port: int) -> None:
    async with ScriptedEngine() as engine:
        file.write(engine)
        async with Serving([str(file.path)]) as serving:
            async with ClosedLoop(serving.url, connections=8, rate=100) as load:
                for workers in (2, 1):
                    file.write(engine, gateway=f"workers = {workers}")
                    await reload(serving)
                    assert len(await serving.worker_pids()) == workers
                    await load.answered(20)
                file.listen = f"127.0.0.1:{port}"
                file.write(engine)
                await reload(serving)
                await load.answered(20)
                assert load.failures == []
                await refusal_of(serving.url)
            async with ClosedLoop(f"http://127.0.0.1:{port}", connections=2) as there:
                await there.answered(20)
            assert there.failures == []
            by_the_kernel = ("[Errno 111]", "[Errno 104]", "ConnectionResetError")
            assert [
                text for text in load.failures if not any(sign in text for sign in by_the_kernel)
            ] == []  # it refuses, and resets who is in the backlog of a listener that closes


@pytest.mark.skipif(which("openssl") is None, reason="needs the openssl program")
async def test_certificates_are_replaced_live(file: File, tmp_path: Path) -> None:
    tls = '[tls]\ncert_file = "cert.pem"\nkey_file = "key.pem"\n'
    make_certificate(tmp_path, "one.test")
    async with ScriptedEngine() as engine:
        file.write(engine, more=tls)
        async with Serving([str(file.path)]) as serving:
            assert serving.url.startswith("https://127.0.0.1:")
            reader, writer = await connect_tls(serving.url)
            assert presents(writer, "one.test")
            make_certificate(tmp_path, "two.test")
            await serving.line("settings reloaded")
            _, other = await connect_tls(serving.url)
            assert presents(other, "two.test")
            # the connection from before goes on, and one without TLS does not harm
            async with RawClient.connect(serving.url.replace("https", "http")) as plain:
                await plain.send(STREAM)
                await plain.read_until_end()
            writer.write(STREAM)
            assert b"[DONE]" in await reader.readuntil(b"[DONE]")
            for each in (writer, other):
                each.close()
            # a pair that does not fit is refused, and TLS can be switched off
            (tmp_path / "key.pem").write_text("no key")
            await serving.line("settings refused, the old ones stay")
            file.write(engine)
            await serving.line("settings reloaded")
            async with RawClient.connect(serving.url.replace("https", "http")) as plain:
                await plain.send(STREAM)
                await plain.read_until(b"[DONE]")


def make_certificate(directory: Path, name: str) -> None:
    """A new pair of cert.pem and key.pem for `name`; each file is whole at any time."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", f"/CN={name}"]
    command += ["-keyout", "key.new", "-out", "cert.new"]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    for kind in ("key", "cert"):
        (directory / f"{kind}.new").replace(directory / f"{kind}.pem")


async def connect_tls(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    host, port = url.removeprefix("https://").split(":")
    return await asyncio.open_connection(host, int(port), ssl=context)


def presents(writer: asyncio.StreamWriter, name: str) -> bool:
    """Whether the server's certificate is for `name`."""
    tls: ssl.SSLObject = writer.get_extra_info("ssl_object")
    assert tls.selected_alpn_protocol() == "http/1.1"
    certificate = tls.getpeercert(binary_form=True)
    assert certificate is not None
    return name.encode() in certificate
