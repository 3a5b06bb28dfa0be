"""`proa serve` as processes: start, reload, drain, and what a service manager sees."""

import asyncio
import signal
import socket
from pathlib import Path

import httpx
import pytest
from tests.cli.serving import Serving

from proa.cli.main import main
from proa.cli.serve.command import config_path
from proa.errors import InputError
from proa.testing.replies import sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import WaitFor

ANYWHERE = ("--listen", "127.0.0.1:0", "--control-listen", "127.0.0.1:0")
CHAT = {"model": "scripted", "messages": [{"role": "user", "content": "안녕하세요"}]}


def flags(engine: ScriptedEngine, *more: str) -> list[str]:
    return ["--engine", engine.url, *ANYWHERE, *more]


async def chat(url: str) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(f"{url}/v1/chat/completions", json=CHAT)


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_engines_on_the_command_line_are_served_until_sigterm(workers: str) -> None:
    async with (
        ScriptedEngine() as engine,
        Serving(flags(engine, "--workers", workers)) as serving,
    ):
        assert f"export OPENAI_BASE_URL={serving.url}/v1 " in serving.welcome
        assert (await chat(serving.url)).status_code == 200
        async with httpx.AsyncClient() as client:
            models = (await client.get(f"{serving.url}/v1/models")).json()
            assert [model["id"] for model in models["data"]] == ["scripted"]
            assert (await client.get(f"{serving.control_url}/readyz")).status_code == 200
        serving.signal(signal.SIGTERM)
        assert await serving.ended() == 0


async def test_a_changed_file_is_taken_and_a_bad_one_refused(tmp_path: Path) -> None:
    file = tmp_path / "proa.toml"

    def write(name: str, url: str, more: str = "") -> None:
        file.write_text(f'[[engines]]\nname = "{name}"\nurl = "{url}"\n{more}')

    async with ScriptedEngine() as engine:
        write("one", engine.url)
        async with Serving([str(file), *ANYWHERE]) as serving:
            assert (await chat(serving.url)).headers["x-proa-engine"] == "one"
            write("two", engine.url)
            assert (await serving.line("settings reloaded"))["generation"] == 2
            assert (await chat(serving.url)).headers["x-proa-engine"] == "two"
            write("three", engine.url, "[scaling]\n")
            refused = await serving.line("settings refused, the old ones stay")
            assert "scaling is not supported by this version" in refused["error"]
            assert (await chat(serving.url)).headers["x-proa-engine"] == "two"
            write("four", engine.url)
            serving.signal(signal.SIGHUP)
            await serving.line("settings reloaded")
            assert (await chat(serving.url)).headers["x-proa-engine"] == "four"


async def test_a_key_that_is_added_counts_without_a_restart(tmp_path: Path) -> None:
    keys, file = tmp_path / "keys.toml", tmp_path / "proa.toml"
    assert main(["keys", "add", "first", "--file", str(keys)]) == 0
    async with ScriptedEngine() as engine:
        engines = f'[[engines]]\nname = "e"\nurl = "{engine.url}"\n'
        file.write_text(f'[gateway]\napi_keys_file = "keys.toml"\n{engines}')
        async with Serving([str(file), *ANYWHERE]) as serving:
            assert (await chat(serving.url)).status_code == 401
            assert main(["keys", "add", "second", "--file", str(keys)]) == 0
            await serving.line("settings reloaded")


async def test_a_drain_lets_a_stream_end_and_a_second_signal_does_not_wait() -> None:
    gate = asyncio.Event()
    script = [
        sse_reply(["one", WaitFor(gate), "two"]),
        sse_reply(["one", WaitFor(asyncio.Event())]),
    ]
    async with ScriptedEngine(script) as engine:
        for is_forced, code in ((False, 0), (True, 130)):
            async with Serving(flags(engine)) as serving, httpx.AsyncClient() as client:
                body = CHAT | {"stream": True}
                request = client.stream("POST", f"{serving.url}/v1/chat/completions", json=body)
                async with request as response:
                    parts = response.aiter_raw()
                    await anext(parts)
                    serving.signal(signal.SIGTERM)
                    await serving.line("draining")
                    if is_forced:
                        serving.signal(signal.SIGTERM)
                    else:
                        gate.set()
                        assert b"two" in b"".join([part async for part in parts])
                    assert await serving.ended() == code


async def test_addresses_and_workers_change_without_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "proa.toml"

    def write(place: str, workers: int) -> None:
        gateway, control = (f"unix:{tmp_path / place}.{kind}" for kind in ("gw", "ctl"))
        file.write_text(
            f'[gateway]\nlisten = "{gateway}"\nworkers = {workers}\n[control]\n'
            f'listen = "{control}"\n[[engines]]\nname = "e"\nurl = "{engine.url}"\n'
        )

    async def answers(place: str) -> list[int]:
        statuses = []
        for kind, path in (("gw", "/v1/models"), ("ctl", "/admin/status")):
            transport = httpx.AsyncHTTPTransport(uds=f"{tmp_path / place}.{kind}")
            async with httpx.AsyncClient(transport=transport, base_url="http://proa") as client:
                statuses.append((await client.get(path)).status_code)
        return statuses

    async with ScriptedEngine() as engine:
        write("a", 1)
        async with Serving([str(file)]) as serving:
            assert await answers("a") == [200, 200]
            write("b", 2)
            await serving.line("settings reloaded")
            assert await answers("b") == [200, 200]
            serving.signal(signal.SIGTERM)
            assert await serving.ended() == 0
            assert [path.name for path in tmp_path.iterdir()] == ["proa.toml"]


async def test_logs_are_opened_anew_and_moved(tmp_path: Path) -> None:
    file, log = tmp_path / "proa.toml", tmp_path / "proa.jsonl"
    async with ScriptedEngine() as engine:
        engines = f'[[engines]]\nname = "e"\nurl = "{engine.url}"\n'
        file.write_text(f'{engines}[logs]\npath = "proa.jsonl"\n')
        async with Serving([str(file), *ANYWHERE]) as serving:
            log.rename(tmp_path / "rotated")
            serving.signal(signal.SIGUSR1)
            file.write_text(f'{engines}[logs]\npath = "-"\n')
            assert (await serving.line("settings reloaded"))["generation"] == 2
            assert log.exists()


async def test_an_address_in_use_is_wrong_input() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for place in ("--listen", "--control-listen"):
            async with (
                ScriptedEngine() as engine,
                Serving(flags(engine, place, address)) as serving,
            ):
                assert "Address already in use" in serving.welcome
                assert await serving.ended() == 2


class TestWhichFile:
    def test_a_named_one(self) -> None:
        assert config_path(Path("x.toml"), []) == Path("x.toml")

    def test_none_when_engines_are_named(self) -> None:
        assert config_path(None, ["http://h"]) is None

    def test_both_are_refused(self) -> None:
        with pytest.raises(InputError, match=r"leave out one of it and x\.toml"):
            config_path(Path("x.toml"), ["http://h"])

    def test_proa_toml_here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InputError, match=r"there is no proa\.toml here.*--engine http"):
            config_path(None, [])
        Path("proa.toml").touch()
        assert config_path(None, []) == Path("proa.toml")
