"""Two real Triton servers behind `proa serve`: their own API, full queues, cancellation, ends."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
import pytest_asyncio
from tests.cli.serving import Serving
from tests.live.triton_server import make_backends, missing, remove_shared_memory, triton

from proa.providers.local import LocalProcess, free_port
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.asyncio(loop_scope="module"),
]
NAMES = ("first", "second")
ECHO = "/v2/models/echo/generate"
STREAM = "/v2/models/llm/generate_stream"
ENDLESS = {"text_input": "x", "stream": True, "max_tokens": 100_000}
SLOW = {"text_input": "x", "delay_s": 1.0}
SHORT = {"text_input": "x", "delay_s": 0.4}
SAID: Any = [{"role": "user", "content": "hi"}]  # for both official clients
TOOL: Any = {"type": "function", "function": {"name": "f"}}
QUEUE = 2  # of the model echo, beside the one request that it works on
SETTINGS = """
[gateway]
listen = "127.0.0.1:0"
[control]
listen = "127.0.0.1:0"
poll_interval_s = 0.1
[admission]
retry_budget = 1.0
[breaker]
slow_start_s = 0.1
[[routes]]
name = "in_order"
prefer = ["first"]
overflow = ["second"]
"""


@dataclass
class Pair:
    """The servers by name, where they answer, and the gateway before them."""

    serving: Serving
    engines: dict[str, LocalProcess]
    urls: dict[str, str]

    async def post(self, path: str, value: object, url: str = "") -> httpx.Response:
        """To the gateway, or to the server at `url`."""
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            return await client.post((url or self.serving.url) + path, json=value)

    async def engine(self, name: str) -> dict[str, Any]:
        """What the control plane says of it."""
        return await self.engine_until(name, lambda _: True)

    async def engine_until(
        self, name: str, condition: Callable[[dict[str, Any]], bool]
    ) -> dict[str, Any]:
        """The same, once it is as wanted: workers hand over their counts a few times a second."""

        def found(status: dict[str, Any]) -> dict[str, Any]:
            (engine,) = [engine for engine in status["engines"] if engine["name"] == name]
            return dict(engine)

        return found(await self.serving.until(lambda status: condition(found(status))))

    async def log_says(self, text: str) -> None:
        """Wait until a model of one of the servers has written it."""
        files = [engine.spec.log_path for engine in self.engines.values()]
        async with asyncio.timeout(10):
            while not any(text in file.read_text() for file in files):
                await asyncio.sleep(0.02)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    directory = tmp_path_factory.mktemp("triton")
    make_backends(directory / "backends")
    engines: dict[str, LocalProcess] = {}
    urls = {name: f"http://127.0.0.1:{free_port()}" for name in NAMES}
    metrics = {name: free_port() for name in NAMES}
    try:
        for name, url in urls.items():
            port = int(url.rpartition(":")[2])
            engines[name] = triton(name, port=port, metrics_port=metrics[name], directory=directory)
            await engines[name].start()
        await asyncio.gather(*(engine.wait_ready() for engine in engines.values()))
        async with Serving([str(configuration(directory, urls, metrics))]) as serving:
            yield Pair(serving, engines, urls)
    finally:
        await asyncio.gather(*(engine.stop() for engine in engines.values()))
        for name in engines:
            remove_shared_memory(name)


def configuration(directory: Path, urls: dict[str, str], metrics: dict[str, int]) -> Path:
    tables = (
        f'[[engines]]\nname = "{name}"\nurl = "{url}"\n'
        f'metrics_url = "http://127.0.0.1:{metrics[name]}/metrics"\n'
        for name, url in urls.items()
    )
    file = directory / "proa.toml"
    file.write_text(SETTINGS + "".join(tables))
    return file


async def test_it_is_found_out_with_its_models(pair: Pair) -> None:
    await ready(pair)
    for name in NAMES:
        engine = await pair.engine(name)
        assert (engine["kind"], engine["models"]) == ("triton", ["echo", "llm"])
        assert engine["version"] == "2.51.0"


async def test_one_answer(pair: Pair) -> None:
    answer = await pair.post(ECHO, {"text_input": "안녕"})
    assert answer.json() == {"model_name": "echo", "model_version": "1", "text_output": "녕안"}
    assert answer.headers["x-proa-engine"] == "first"
    tensor = {"name": "text_input", "shape": [1, 1], "datatype": "BYTES", "data": ["abc"]}
    answer = await pair.post("/v2/models/echo/infer", {"inputs": [tensor]})
    assert answer.json()["outputs"][0]["data"] == ["cba"]


async def test_a_stream_which_has_no_end_mark(pair: Pair) -> None:
    before = (await pair.engine("first"))["outcomes"]["ok"]
    answer = await pair.post(STREAM, {"text_input": "x", "stream": True, "max_tokens": 3})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(e.removeprefix("data:")) for e in answer.text.split("\n\n") if e]
    assert [event["text_output"] for event in events] == ["word0 ", "word1 ", "word2 "]
    first = await pair.engine_until("first", lambda engine: engine["outcomes"]["ok"] > before)
    assert first["broken_streams"] == 0


async def test_an_unknown_model(pair: Pair) -> None:
    assert (await pair.post("/v2/models/none/generate", {"text_input": "x"})).status_code == 404


async def test_bad_json_is_the_clients_fault_although_triton_says_500(pair: Pair) -> None:
    before = (await pair.engine("first"))["outcomes"]
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(8):
            refused = await client.post(pair.serving.url + ECHO, content=b'{"text_input": ')
            assert refused.status_code == 500
            assert "failed to parse the request JSON" in refused.text
            assert refused.headers["x-proa-engine"] == "first"
    counted = before["client_fault"] + 8
    engine = await pair.engine_until("first", lambda e: e["outcomes"]["client_fault"] >= counted)
    assert engine["outcomes"]["client_fault"] == counted
    assert engine["outcomes"]["broken"] == before["broken"]
    assert set(engine["breaker"].values()) == {"closed"}


async def test_a_full_queue_sends_requests_to_the_other_server(pair: Pair) -> None:
    first = pair.urls["first"]
    async with full(pair, first):
        answer = await answered_by(pair, "second", ECHO, {"text_input": "abc"})
    assert answer.json()["text_output"] == "cba"

    def known_full(engine: dict[str, Any]) -> bool:  # asked in vain, or has others' requests
        return bool(
            engine["outcomes"]["busy"] or engine["foreign"] or (engine["load"] or {}).get("waiting")
        )

    engine = await pair.engine_until("first", known_full)
    assert engine["outcomes"]["broken"] == 0
    assert set(engine["breaker"].values()) == {"closed"}


async def test_what_waits_in_triton_is_read_from_its_other_port(pair: Pair) -> None:
    first = pair.urls["first"]
    direct = [asyncio.create_task(pair.post(ECHO, SLOW, first)) for _ in range(QUEUE + 1)]

    def waits(status: dict[str, Any]) -> bool:
        return ((status["engines"][0]["load"] or {}).get("waiting") or 0) >= 1

    status = await pair.serving.until(waits)
    assert status["engines"][0]["load"]["running"] is None  # Triton does not say it
    await asyncio.gather(*direct)
    await pair.serving.until(lambda status: status["engines"][0]["load"]["waiting"] == 0)


@asynccontextmanager
async def full(pair: Pair, url: str) -> AsyncIterator[None]:
    """The model at `url` has a full queue: whoever gets a place or a refusal asks again."""
    refused, over = asyncio.Event(), asyncio.Event()

    async def ask_on() -> None:
        while not over.is_set():
            if (await pair.post(ECHO, SLOW, url)).status_code == 503:
                refused.set()

    async with asyncio.TaskGroup() as group:
        for _ in range(QUEUE + 4):
            group.create_task(ask_on())
        await asyncio.wait_for(refused.wait(), 10)
        yield
        over.set()


async def answered_by(pair: Pair, name: str, path: str, body: dict[str, Any]) -> httpx.Response:
    """The first answer of this engine: a place of the other's may have been free just then."""
    for _ in range(5):
        answer = await pair.post(path, body)
        assert answer.status_code == 200
        if answer.headers["x-proa-engine"] == name:
            return answer
    raise AssertionError(f"{name} was never asked")


async def test_two_full_queues_are_a_true_503(pair: Pair) -> None:
    count = 2 * (QUEUE + 1) + 8
    answers = await asyncio.gather(*(pair.post(ECHO, SHORT) for _ in range(count)))
    codes = [answer.status_code for answer in answers]
    assert set(codes) == {200, 503}
    assert codes.count(200) >= 2 * QUEUE
    for name in NAMES:
        assert set((await pair.engine(name))["breaker"].values()) == {"closed"}


async def test_a_client_that_leaves_stops_the_model(pair: Pair) -> None:
    async with RawClient.connect(pair.serving.url, timeout_s=10) as client:
        await client.send(json_request(ENDLESS, STREAM))
        await client.read_until(b"word20 ")
    await pair.log_says("cancelled after 2")
    await pair.serving.until(lambda s: sum(e["in_flight"] for e in s["engines"]) == 0)


async def test_a_server_killed_in_a_stream_ends_it_with_an_error_and_comes_back(
    pair: Pair,
) -> None:
    first = pair.engines["first"]
    async with RawClient.connect(pair.serving.url, timeout_s=10) as client:
        await client.send(json_request(ENDLESS, STREAM))
        await client.read_until(b"word1 ")
        assert first.pid is not None
        os.killpg(first.pid, signal.SIGKILL)
        assert b'"error"' in await client.read_until_end()
    answer = await pair.post(ECHO, {"text_input": "abc"})
    assert (answer.status_code, answer.headers["x-proa-engine"]) == (200, "second")
    await pair.serving.until(lambda s: s["engines"][0]["state"] == "unreachable")
    await first.start()
    await ready(pair)
    async with asyncio.timeout(20):
        while (await pair.post(ECHO, {"text_input": "x"})).headers["x-proa-engine"] != "first":
            pass


async def ready(pair: Pair) -> None:
    await pair.serving.until(lambda s: all(e["state"] == "ready" for e in s["engines"]))


async def test_openais_client_talks_to_it(pair: Pair) -> None:
    await ready(pair)
    speaker = openai.AsyncOpenAI(base_url=f"{pair.serving.url}/v1", api_key="k", max_retries=0)
    asked: Any = {"model": "llm", "max_tokens": 3, "messages": SAID}
    raw = await speaker.chat.completions.with_raw_response.create(**asked)
    assert raw.headers["x-proa-decision"].endswith("translated=triton")
    choice = (await speaker.chat.completions.create(**asked)).choices[0]
    assert (choice.message.content, choice.finish_reason) == ("word0 word1 word2 ", "stop")
    stream = await speaker.chat.completions.create(**asked, stream=True)
    told = [event.choices[0] async for event in stream]
    assert [c.delta.content for c in told] == ["", "word0 ", "word1 ", "word2 ", None]
    assert [c.finish_reason for c in told] == [None, None, None, None, "stop"]
    text = await speaker.completions.create(model="echo", prompt="안녕")
    assert text.choices[0].text == "녕안"
    with pytest.raises(openai.BadRequestError, match="`tools` is not translated"):
        await speaker.chat.completions.create(**asked, tools=[TOOL])


async def test_anthropics_client_talks_to_it(pair: Pair) -> None:
    speaker = anthropic.AsyncAnthropic(base_url=pair.serving.url, api_key="k", max_retries=0)
    asked: Any = {"model": "llm", "max_tokens": 3, "messages": SAID}
    async with speaker.messages.stream(**asked) as stream:
        assert [text async for text in stream.text_stream] == ["word0 ", "word1 ", "word2 "]
        final = await stream.get_final_message()
    assert final.stop_reason == "end_turn"
    counted = await speaker.messages.count_tokens(model="llm", messages=SAID)
    assert 0 < counted.input_tokens == final.usage.input_tokens


async def test_a_translated_request_overflows_to_the_other_server(pair: Pair) -> None:
    first = pair.urls["first"]
    asked = {"model": "echo", "prompt": "abc"}
    async with full(pair, first):
        answer = await answered_by(pair, "second", "/v1/completions", asked)
    assert answer.json()["choices"][0]["text"] == "cba"


async def test_a_client_that_leaves_a_translated_stream_stops_the_model(pair: Pair) -> None:
    endless = {"model": "llm", "messages": SAID, "stream": True, "max_tokens": 100_000}
    async with RawClient.connect(pair.serving.url, timeout_s=10) as client:
        await client.send(json_request(endless, "/v1/chat/completions"))
        await client.read_until(b"word30 ")
    await pair.log_says("cancelled after 3")
    await pair.serving.until(lambda s: sum(e["in_flight"] for e in s["engines"]) == 0)
