"""vLLM 0.32.0 on the CPU behind `proa serve`."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest
import pytest_asyncio
from tests.cli.serving import descendants
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
SOURCE = ADAPTERS[EngineKind.VLLM].load_groups[0][0]
MAX_TOKENS = 2048
RUNNING = 2
QUEUED = 4  # vLLM counts those that run, too
PROMPT = CHAT | {"messages": [{"role": "user", "content": "word " * 600}]}
VARIABLES = {
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
}


def vllm(engines: Path, *, port: int, kv_events: str, log: Path) -> LocalProcess:
    events = {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": kv_events}
    command = (
        *("env", *(f"{name}={value}" for name, value in VARIABLES.items())),
        *(str(engines / "vllm/bin/vllm"), "serve", str(engines / "models/tiny")),
        *("--host=127.0.0.1", f"--port={port}", "--served-model-name=tiny", "--enforce-eager"),
        *(f"--max-model-len={MAX_TOKENS}", f"--max-num-seqs={RUNNING}"),
        *(f"--max-num-queued-reqs={QUEUED}", "--enable-prompt-tokens-details"),
        f"--kv-events-config={json.dumps(events)}",
        *("--enable-lora", "--max-lora-rank=8", f"--lora-modules=warm={engines}/models/tiny-lora"),
    )
    return LocalProcess(
        LocalProcessSpec(
            name="vllm",
            command=command,
            log_path=log,
            ready_url=f"http://127.0.0.1:{port}/health",
            ready_timeout_s=START_WITHIN_S,
        )
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(
    engines: Path, seen: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Behind]:
    port = free_port()
    directory = tmp_path_factory.mktemp("vllm")
    address = f"ipc://{directory}/kv"
    process = vllm(engines, port=port, kv_events=address, log=directory / "engine.log")
    keys = f'kv_events = "{address}"\n'
    async with behind(process, f"http://127.0.0.1:{port}", SOURCE, keys) as found:
        started_s = time.monotonic()
        await process.start()
        await process.wait_ready()
        seen["vLLM: start-up"] = f"{time.monotonic() - started_s:.0f} s"
        await found.until(lambda at: at["state"] == "ready")
        yield found


async def test_it_is_found_out(engine: Behind, seen: dict[str, str]) -> None:
    at = await engine.until(lambda at: at["models"] is not None)
    assert (at["kind"], at["state"]) == ("vllm", "ready")
    assert at["models"] == ["tiny", "warm"]
    assert at["version"] == "0.32.0"
    assert at["context_tokens"]["tiny"] == MAX_TOKENS
    assert at["adapters"] == [{"name": "warm", "parent": "tiny"}]
    seen["vLLM: as proa sees it"] = str(at)


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
        text = await client.completions.create(model="tiny", prompt="One, two", max_tokens=4)
        assert text.usage is not None


async def test_faults_of_the_client_are_not_the_engines(engine: Behind) -> None:
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
    before = await engine.load()
    async with engine.filled(QUEUED):
        await engine.until_counts(running=RUNNING, waiting=QUEUED - RUNNING)
        at = await engine.until(lambda at: at["foreign"] == QUEUED)
        assert 0 < at["load"]["kv_use"] < 0.1
        assert at["load"]["kv_tokens"] == 2**30 // 1024  # 1 GiB, 1,024 bytes per token
        assert await engine.metric("proa_engine_requests_running") == RUNNING
        assert await engine.metric("proa_engine_requests_waiting") == QUEUED - RUNNING
        assert await engine.metric("proa_engine_kv_use_ratio") > 0
    await engine.until_counts(running=0, waiting=0)
    await engine.post(CHAT)
    after = await engine.load()
    assert (after.generation_tokens_total or 0) >= (before.generation_tokens_total or 0) + 8


async def test_overload_is_a_true_503_for_streams_too(engine: Behind) -> None:
    await engine.is_idle()
    before = await engine.engine()
    async with engine.filled(QUEUED):
        assert (await engine.head_of(CHAT)).status == 503
        assert (await engine.head_of(CHAT | {"stream": True})).status == 503
    counted = before["outcomes"]["busy"] + 2
    at = await engine.until(lambda at: at["outcomes"]["busy"] >= counted)
    assert at["outcomes"]["broken"] == before["outcomes"]["broken"]
    assert set(at["breaker"].values()) == {"closed"}
    await engine.is_idle()
    assert (await engine.post(CHAT)).status_code == 200


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_a_client_that_leaves_stops_the_engine(
    engine: Behind, seen: dict[str, str], stream: bool
) -> None:
    running_s, freed_s = await engine.freed_after_s(stream=stream)
    seen[f"vLLM: freed after the client left, stream={stream}"] = (
        f"{running_s:.2f} to {freed_s:.2f} s"
    )
    assert running_s < 1.0
    await engine.until(lambda at: at["in_flight"] == 0)


async def test_its_kv_events_tell_what_is_cached(engine: Behind, seen: dict[str, str]) -> None:
    await engine.is_idle()
    assert (await engine.post(PROMPT)).status_code == 200
    at = await engine.until(lambda at: bool((at["cache"] or {}).get("cached_tokens")))
    before = at["cache"]["cached_tokens"]
    other = PROMPT | {"messages": [{"role": "user", "content": "other " * 600}]}
    for body in (other, PROMPT):  # what is cached already is not stored again
        assert (await engine.post(body)).status_code == 200
    at = await engine.until(lambda at: at["cache"]["cached_tokens"] >= before + 512)
    cached = at["cache"]["cached_tokens"]
    assert (await engine.post(PROMPT)).status_code == 200
    await engine.is_idle()
    at = await engine.engine()
    assert at["cache"] == {
        "cached_tokens": cached,
        "evicted_tokens_total": 0,
        "cleared_total": 0,
        "lost_total": 0,
    }
    assert await engine.metric("proa_engine_cached_tokens") == cached
    seen["vLLM: cached tokens"] = str(cached)


async def test_adapters_come_and_go(engine: Behind, engines: Path) -> None:
    answer = await engine.post(CHAT | {"model": "warm"})
    assert (answer.status_code, answer.json()["model"]) == (200, "warm")
    # one more that runs long enough to be seen; three polls later it is gone
    request = asyncio.create_task(engine.post(LONG | {"model": "warm"}, url=engine.url))
    at = await engine.until(lambda at: (at["load"] or {}).get("adapters_running") == ["warm"])
    assert at["load"]["adapters_max"] == 1
    request.cancel()
    added = {"lora_name": "second", "lora_path": str(engines / "models/tiny-lora")}
    assert (await engine.post(added, "/v1/load_lora_adapter", url=engine.url)).status_code == 200
    await engine.until(lambda at: "second" in at["models"])
    assert (await engine.post(CHAT | {"model": "second"})).json()["model"] == "second"
    removed = {"lora_name": "second"}
    answer = await engine.post(removed, "/v1/unload_lora_adapter", url=engine.url)
    assert answer.status_code == 200
    await engine.until(lambda at: "second" not in at["models"])
    assert (await engine.post(CHAT | {"model": "second"})).status_code == 404


async def test_an_engine_killed_in_a_stream_ends_it_with_an_error_and_comes_back(
    engine: Behind, seen: dict[str, str]
) -> None:
    await engine.is_idle()
    async with RawClient.connect(engine.serving.url, timeout_s=PATIENCE_S) as client:
        await client.send(json_request(LONG | {"stream": True}))
        await client.read_until(b'"content":"')
        assert engine.process.pid is not None
        for pid in descendants(engine.process.pid):  # the API server lives on for a moment
            os.kill(pid, signal.SIGKILL)
        rest = await client.read_until_end()
        assert b'"error"' in rest
        assert b"[DONE]" not in rest
    assert (await engine.until(lambda at: at["outcomes"]["broken"] > 0))["outcomes"]["broken"] == 1
    await engine.until(lambda at: at["state"] == "unreachable")
    assert (await engine.post(CHAT)).status_code in (502, 503)
    await engine.process.stop()
    started_s = time.monotonic()
    await engine.process.start()
    await engine.until(lambda at: at["state"] == "ready", within_s=START_WITHIN_S)
    seen["vLLM: ready again after a kill"] = f"{time.monotonic() - started_s:.0f} s"
    assert (await engine.post(PROMPT)).status_code == 200
    at = await engine.until(lambda at: at["cache"]["cleared_total"] > 0)
    at = await engine.until(lambda at: at["cache"]["cached_tokens"] >= 512)
    assert at["cache"]["cached_tokens"] < MAX_TOKENS
    assert (at["cache"]["cleared_total"], at["cache"]["lost_total"]) == (1, 0)
