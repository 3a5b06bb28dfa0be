"""The end of `proa serve`: what is open ends well, nothing is left, and limits hold."""

import asyncio
import signal
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.cli.serving import Serving, handed_over
from tests.gateway.closed_loop import CHAT, ClosedLoop
from tests.gateway.supervised import end_of, refusal_of

from proa.testing.chat import chat_completion
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Stall, WaitFor

STREAM = json_request({"model": "scripted", "messages": [], "stream": True})


def config(directory: Path, engine: ScriptedEngine, *, limits: str = "", workers: int = 1) -> str:
    file = directory / "proa.toml"
    file.write_text(
        f'[gateway]\nlisten = "127.0.0.1:0"\nworkers = {workers}\n'
        f'[control]\nlisten = "127.0.0.1:0"\n[limits]\n{limits}\n'
        f'[[engines]]\nname = "e"\nurl = "{engine.url}"\n'
    )
    return str(file)


@pytest.mark.parametrize("workers", [1, 2])
async def test_ctrl_c_lets_everything_open_end_well(tmp_path: Path, workers: int) -> None:
    gate = asyncio.Event()
    script = [sse_reply(["one", WaitFor(gate), "two"])]
    async with ScriptedEngine(script) as engine:
        file = config(tmp_path, engine, limits="linger_s = 1.0", workers=workers)
        async with (
            Serving([file]) as serving,
            RawClient.connect(serving.url) as streaming,
            RawClient.connect(serving.url) as busy,
            RawClient.connect(serving.url) as idle,
        ):
            await streaming.send(STREAM)
            await streaming.read_head()
            for client in (busy, idle):
                await client.send(CHAT)
                assert (await client.read_response()).header("connection") is None
            serving.signal_group(signal.SIGINT)
            await serving.line("draining")
            readiness = await serving.page("/readyz")
            assert readiness.status_code == 503
            assert "the gateway is draining" in readiness.json()["reasons"]
            # requests that come before our FIN are served, on new connections too
            async with RawClient.connect(serving.url) as late:
                for client in (busy, late):
                    await client.send(CHAT)
                    answer = await client.read_response()
                    assert answer.status == 200
                    assert answer.header("connection") == "close"
                    assert await client.end() == "FIN"
            assert await idle.end() == "FIN"
            await refusal_of(serving.url)
            gate.set()
            assert b"two" in await streaming.read_until(b"[DONE]")
            assert await serving.ended() == 0
            assert "Traceback" not in serving.errors


async def test_the_limit_of_the_drain_holds(tmp_path: Path) -> None:
    script = [sse_reply(["one", Stall()]), sse_reply(["one", Stall()])]
    async with ScriptedEngine(script) as engine:
        limits = "drain_timeout_s = 0.5\nlinger_s = 0.1"
        async with (
            Serving([config(tmp_path, engine, limits=limits)]) as serving,
            RawClient.connect(serving.url) as client,
        ):
            await client.send(STREAM)
            await client.read_head()
            serving.signal(signal.SIGTERM)
            assert b"[DONE]" not in await client.read_until_end()
            assert await serving.ended() == 0
            await engine.wait_aborted(1)


async def test_workers_do_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    gate = asyncio.Event()
    script = [json_reply(chat_completion()).preceded_by(WaitFor(gate))]
    async with ScriptedEngine(script) as engine:
        file = config(tmp_path, engine, workers=2)
        async with Serving([file]) as serving, RawClient.connect(serving.url) as client:
            await client.send(CHAT)
            await engine.wait_running(1)
            pids = await serving.worker_pids()
            assert len(pids) == 2
            serving.signal(signal.SIGKILL)
            await refusal_of(serving.url)  # another one may have the address
            gate.set()
            assert (await client.read_response()).status == 200
            for pid in pids:
                await end_of(pid)


async def test_g65_a_restart_on_a_socket_that_stays_loses_nothing(tmp_path: Path) -> None:
    """As under systemd with socket activation: the next program takes over the backlog."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with ScriptedEngine() as engine:
            file = config(tmp_path, engine)
            async with AsyncExitStack() as stack:
                old = await stack.enter_async_context(handed_over(file, listener))
                load = await stack.enter_async_context(ClosedLoop(url, connections=8, rate=100))
                await load.answered(20)
                old.signal(signal.SIGTERM)
                assert await old.ended() == 0
                new = await stack.enter_async_context(handed_over(file, listener))
                await load.answered(50)
                assert new.url == url
                await load.stop()
            assert load.reconnects >= 8
            assert load.failures == []
