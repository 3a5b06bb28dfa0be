"""`proa emulate`: as a process, behind the gateway, and what it refuses."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.serving import Serving

from proa.cli.main import main


@asynccontextmanager
async def emulating(*arguments: str) -> AsyncIterator[dict[str, Any]]:
    """A process; gives what it tells when it listens."""
    command = [sys.executable, "-m", "proa", "emulate", "--format", "json", *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            line = await process.stdout.readline()
        yield json.loads(line)
    finally:
        process.terminate()
        assert await process.wait() == 0


async def test_it_tells_where_it_listens_and_answers_there() -> None:
    arguments = ("--profile", "rtx-5060-ti-8b", "--kind", "sglang", "--model", "mine")
    async with emulating(*arguments) as told, httpx.AsyncClient(base_url=told["url"]) as client:
        models = (await client.get("/v1/models")).json()
        version = await client.get("/version")
    assert told == {
        "url": told["url"],
        "profile": "rtx-5060-ti-8b",
        "kind": "sglang",
        "model": "mine",
        "emulated": True,
    }
    assert [card["id"] for card in models["data"]] == ["mine"]
    assert version.headers["x-proa-emulator"] == "rtx-5060-ti-8b"


async def test_it_listens_on_a_unix_socket_and_tells_a_person(tmp_path: Path) -> None:
    path = tmp_path / "engine.sock"
    async with emulating("--profile", "rtx-pro-6000-8b", "--listen", f"unix:{path}") as told:
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        async with httpx.AsyncClient(transport=transport, base_url="http://engine") as client:
            assert (await client.get("/health")).status_code == 200
    assert told["url"] == f"unix:{path}"


async def test_the_gateway_serves_two_of_them_as_one() -> None:
    quick = ("--step-base-ms", "2", "--model", "shared")
    async with (
        emulating("--profile", "rtx-pro-6000-8b", *quick) as main_engine,
        emulating("--profile", "rtx-5060-ti-8b", *quick, "--kind", "llamacpp") as aux,
        Serving(
            [
                *("--engine", f"main={main_engine['url']}", "--engine", f"aux={aux['url']}"),
                *("--listen", "127.0.0.1:0", "--control-listen", "127.0.0.1:0"),
            ]
        ) as gateway,
        httpx.AsyncClient(base_url=gateway.url, timeout=20) as client,
    ):
        await until_ready(client)
        body = {"model": "shared", "messages": [{"role": "user", "content": "hi"}]}
        asked = body | {"max_tokens": 20, "stream": True}
        answers = await asyncio.gather(
            *(client.post("/v1/chat/completions", json=asked) for _ in range(12))
        )
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.headers["x-proa-engine"] for answer in answers} == {"main", "aux"}
    assert {answer.headers["x-proa-emulator"] for answer in answers} == {
        "rtx-pro-6000-8b",
        "rtx-5060-ti-8b",
    }
    assert all(answer.text.rstrip().endswith("data: [DONE]") for answer in answers)


async def until_ready(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(60):
        while len((await client.get("/v1/models")).json()["data"]) < 1:
            await asyncio.sleep(0.05)


def test_the_shipped_profiles_are_listed_with_their_sources(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["emulate", "--list-profiles"]) == 0
    text = capsys.readouterr().out
    assert "rtx-pro-6000-8b: Qwen/Qwen3-8B, step 6.35 + 0.314 x n ms" in text
    assert "1,582 tok/s" in text
    assert main(["emulate", "--list-profiles", "--format", "json"]) == 0
    profiles = json.loads(capsys.readouterr().out)["profiles"]
    assert {profile["step_base_ms"] for profile in profiles} == {6.35, 12.5, 10.4, 24.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--profile is missing"),
        (["--profile", "nope"], "accepted are rtx-5060-ti-14b"),
        (["--profile", "rtx-5060-ti-8b", "--max-running", "0"], "max_running = 0"),
        (["--profile", "rtx-5060-ti-8b", "--listen", "nowhere"], "--listen nowhere: accepted is"),
        (["--profile", "rtx-5060-ti-8b", "--listen", "0.0.0.0:0"], "--insecure allows that"),
    ],
)
def test_what_cannot_be_used_is_said(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emulate", *arguments]) == 2
    assert message in capsys.readouterr().err
