"""SGLang 0.5.23 behind `proa serve`.

A test fixture with stubbed sgl_kernel and torch_native attention.
"""

import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest
import pytest_asyncio
from tests.engines_live.behind import (
    CHAT,
    LONG,
    MESSAGES,
    PATIENCE_S,
    START_WITHIN_S,
    TOO_LONG,
    WRONG,
    Behind,
    behind,
)

from proa.domain.fleet import EngineKind
from proa.engines.adapters import ADAPTERS
from proa.providers.local import LocalProcess, LocalProcessSpec, free_port
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(2 * START_WITHIN_S),
]
SOURCE = ADAPTERS[EngineKind.SGLANG].load_groups[0][0]
MAX_TOKENS = 2048
KV_TOKENS = 8192
RUNNING = 2
QUEUED = 2  # SGLang counts only those that wait
VARIABLES = {"SGLANG_USE_CPU_ENGINE": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def sglang(engines: Path, *, port: int, log: Path) -> LocalProcess:
    command = (
        *("env", *(f"{name}={value}" for name, value in VARIABLES.items())),
        *(str(engines / "sglang/bin/python"), "-m", "sglang.launch_server", "--device=cpu"),
        *(f"--model-path={engines}/models/tiny", "--served-model-name=tiny"),
        *("--host=127.0.0.1", f"--port={port}", "--attention-backend=torch_native"),
        *("--sampling-backend=pytorch", "--disable-overlap-schedule", "--disable-cuda-graph"),
        *(f"--max-total-tokens={KV_TOKENS}", f"--max-running-requests={RUNNING}"),
        *(f"--max-queued-requests={QUEUED}", "--enable-metrics"),
    )
    return LocalProcess(
        LocalProcessSpec(
            name="sglang",
            command=command,
            log_path=log,
            ready_url=f"http://127.0.0.1:{port}/v1/models",
            ready_timeout_s=START_WITHIN_S,
        )
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(
    engines: Path, seen: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Behind]:
    port = free_port()
    process = sglang(engines, port=port, log=tmp_path_factory.mktemp("sglang") / "engine.log")
    async with behind(process, f"http://127.0.0.1:{port}", SOURCE) as found:
        started_s = time.monotonic()
        await process.start()
        await process.wait_ready()
        await found.until(lambda at: at["state"] == "ready")
        seen["SGLang: start-up"] = f"{time.monotonic() - started_s:.0f} s"
        yield found


async def test_the_first_request_when_proa_calls_it_ready(engine: Behind) -> None:
    assert (await engine.post(CHAT)).status_code == 200


async def test_it_is_found_out(engine: Behind, seen: dict[str, str]) -> None:
    at = await engine.until(lambda at: at["models"] is not None)
    assert (at["kind"], at["state"], at["models"]) == ("sglang", "ready", ["tiny"])
    assert at["version"] == "0.5.23"
    assert at["context_tokens"]["tiny"] == MAX_TOKENS
    seen["SGLang: as proa sees it"] = str(at)


async def test_the_official_client(engine: Behind) -> None:
    async with engine.openai() as client:
        whole = await client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=8)
        assert whole.usage is not None
        assert whole.usage.completion_tokens in range(1, 9)
        stream = await client.chat.completions.create(
            model="tiny",
            messages=MESSAGES,
            max_tokens=8,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
        assert any(chunk.choices and chunk.choices[0].finish_reason for chunk in chunks)
        assert chunks[-1].usage is not None


async def test_faults_of_the_client_are_not_the_engines(engine: Behind) -> None:
    """SGLang itself takes any name for its own model's; proa knows what it lists."""
    async with engine.openai() as client:
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="none", messages=MESSAGES)
    for body in (TOO_LONG, TOO_LONG | {"stream": True}):  # proa knows the context
        answer = await engine.post(body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (
            400,
            "context_length_exceeded",
        )
    before = await engine.engine()
    for body in (WRONG, WRONG | {"stream": True}) * 4:
        assert (await engine.post(body)).status_code == 400
    counted = before["outcomes"]["client_fault"] + 8
    at = await engine.until(lambda at: at["outcomes"]["client_fault"] >= counted)
    assert at["outcomes"]["client_fault"] == counted
    assert at["outcomes"]["broken"] == before["outcomes"]["broken"]
    assert set(at["breaker"].values()) == {"closed"}


async def test_load_as_proa_sees_it(engine: Behind) -> None:
    await engine.is_idle()
    async with engine.filled(RUNNING + QUEUED):
        await engine.until_counts(running=RUNNING, waiting=QUEUED)
        at = await engine.until(lambda at: at["foreign"] == RUNNING + QUEUED)
        assert 0 < at["load"]["kv_use"] < 1
        assert at["load"]["kv_tokens"] == KV_TOKENS
        assert at["max_concurrent"] == RUNNING
        assert await engine.metric("proa_engine_requests_running") == RUNNING
        assert await engine.metric("proa_engine_requests_waiting") == QUEUED
        assert await engine.metric("proa_engine_kv_use_ratio") > 0
    await engine.until_counts(running=0, waiting=0)


async def test_overload_is_a_true_503_for_streams_too(engine: Behind) -> None:
    await engine.is_idle()
    before = await engine.engine()
    async with engine.filled(RUNNING + QUEUED):
        assert (await engine.head_of(CHAT)).status == 503
        assert (await engine.head_of(CHAT | {"stream": True})).status == 503
    counted = before["outcomes"]["busy"] + 2
    at = await engine.until(lambda at: at["outcomes"]["busy"] >= counted)
    assert at["outcomes"]["broken"] == before["outcomes"]["broken"]
    assert set(at["breaker"].values()) == {"closed"}
    await engine.is_idle()
    assert (await engine.post(CHAT)).status_code == 200


@pytest.mark.parametrize(("stream", "within_s"), [(True, 1.0), (False, 5.0)])
async def test_a_client_that_leaves_stops_the_engine(
    engine: Behind, seen: dict[str, str], stream: bool, within_s: float
) -> None:
    running_s, freed_s = await engine.freed_after_s(stream=stream)
    seen[f"SGLang: freed after the client left, stream={stream}"] = (
        f"{running_s:.2f} to {freed_s:.2f} s"
    )
    assert running_s < within_s
    await engine.until(lambda at: at["in_flight"] == 0)


async def test_an_engine_killed_in_a_stream_ends_it_with_an_error_and_comes_back(
    engine: Behind, seen: dict[str, str]
) -> None:
    await engine.is_idle()
    async with RawClient.connect(engine.serving.url, timeout_s=PATIENCE_S) as client:
        await client.send(json_request(LONG | {"stream": True}))
        await client.read_until(b'"content":"')
        assert engine.process.pid is not None
        os.killpg(engine.process.pid, signal.SIGKILL)
        rest = await client.read_until_end()
        assert b'"error"' in rest
        assert b"[DONE]" not in rest
    assert (await engine.until(lambda at: at["outcomes"]["broken"] > 0))["outcomes"]["broken"] == 1
    await engine.until(lambda at: at["state"] == "unreachable")
    assert (await engine.post(CHAT)).status_code in (502, 503)
    started_s = time.monotonic()
    await engine.process.start()
    await engine.until(lambda at: at["state"] == "ready", within_s=START_WITHIN_S)
    seen["SGLang: ready again after a kill"] = f"{time.monotonic() - started_s:.0f} s"
    assert (await engine.post(CHAT)).status_code == 200
