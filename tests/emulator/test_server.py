"""What holds for every protocol: marks, counts, order, cancellation, speed, connections."""

import asyncio
from typing import Any

import httpx
import openai
import pytest
import uvloop
from tests.emulator.emulated import HELLO, Emulated, emulated, events

from proa.emulator.profile import EMULATED_KINDS

KINDS = [kind.value for kind in EMULATED_KINDS]


def contents(told: list[Any]) -> str:
    deltas = [e["choices"][0]["delta"] for e in told if e != "[DONE]" and e["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


@pytest.mark.parametrize("kind", KINDS)
async def test_every_answer_says_that_it_is_emulated(kind: str) -> None:
    async with emulated(kind=kind) as engine:
        answers = [
            await engine.get("/version"),
            await engine.get("/nowhere"),
            await engine.get("/v1/chat/completions"),
            await engine.get("/metrics"),
            await engine.post("/v1/chat/completions", b"{"),
            await engine.chat(),
            await engine.chat(stream=True),
        ]
        version = answers[0].json()
    assert {answer.headers["x-proa-emulator"] for answer in answers} == {"small"}
    assert version["emulator"]["profile"] == "small"
    assert version["version"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_official_client_gets_exactly_the_asked_tokens(kind: str, stream: bool) -> None:
    async with emulated(kind=kind) as engine:
        client = openai.AsyncOpenAI(base_url=f"{engine.url}/v1", api_key="none")
        asked: dict[str, Any] = {"messages": HELLO, "max_tokens": 7}
        asked["model"] = (await client.models.list()).data[0].id
        if stream:
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
            chunks = [chunk async for chunk in await client.chat.completions.create(**asked)]
            text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
            usage = chunks[-1].usage
            reasons = [c.choices[0].finish_reason for c in chunks if c.choices]
            assert [reason for reason in reasons if reason] == ["length"]
        else:
            answer = await client.chat.completions.create(**asked)
            text, usage = answer.choices[0].message.content, answer.usage
        await client.close()
    assert len(text.split()) == 7
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (5, 7, 12)


@pytest.mark.parametrize("kind", KINDS)
async def test_completions_are_streamed_and_whole_with_the_same_text(kind: str) -> None:
    body = {"model": "tiny", "prompt": "Once upon a time", "max_tokens": 6}
    async with emulated(kind=kind) as engine:
        whole = (await engine.post("/v1/completions", body)).json()
        told = events(await engine.post("/v1/completions", body | {"stream": True}))
    pieces = [e["choices"][0]["text"] for e in told if e != "[DONE]"]
    assert "".join(pieces) == whole["choices"][0]["text"]
    assert told[-1] == "[DONE]"
    assert whole["usage"]["completion_tokens"] == 6


@pytest.mark.parametrize("kind", KINDS)
async def test_text_depends_on_seed_and_prompt_only(kind: str) -> None:
    async with emulated(kind=kind, seed=1) as one, emulated(kind=kind, seed=2) as two:
        first = [(await one.chat()).json() for _ in range(2)]
        other = (await two.chat()).json()
        asked = (await two.chat(seed=1)).json()
    texts = [a["choices"][0]["message"]["content"] for a in (*first, other, asked)]
    assert texts[0] == texts[1] == texts[3] != texts[2]


@pytest.mark.parametrize("kind", KINDS)
async def test_without_a_limit_the_text_ends_by_itself(kind: str) -> None:
    async with emulated(kind=kind, output_tokens=4) as engine:
        answer = (await engine.chat(max_tokens=None)).json()
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] == 4


@pytest.mark.parametrize("kind", KINDS)
async def test_a_closed_stream_is_cancelled_at_once(kind: str) -> None:
    async with emulated(kind=kind) as engine:
        body = {"model": "tiny", "messages": HELLO, "max_tokens": 240, "stream": True}
        async with engine.client.stream("POST", "/v1/chat/completions", json=body) as stream:
            await anext(stream.aiter_bytes())
            await engine.until(running=1)
        await engine.until(running=0)
        assert engine.scheduler.stats.cancelled == 1


async def close_while_it_works(engine: Emulated) -> None:
    asking = asyncio.create_task(engine.chat(max_tokens=240))
    await engine.until(running=1)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def test_a_closed_whole_answer_is_cancelled_at_once_by_most() -> None:
    async with emulated(step_base_ms=10.0) as engine:
        await close_while_it_works(engine)
        await engine.until(running=0)
        assert engine.scheduler.stats.cancelled == 1


def test_sglang_works_on_for_a_client_that_left() -> None:
    """On uvloop, which refuses to write to a connection that is gone."""

    async def scenario() -> None:
        async with emulated(kind="sglang", step_base_ms=1.0) as engine:
            await close_while_it_works(engine)
            await engine.until(running=0)
            assert engine.scheduler.stats.cancelled == 0
            assert (await engine.chat()).status_code == 200
            assert engine.scheduler.stats.finished == 2

    uvloop.run(scenario())


async def test_pipelined_requests_are_answered_in_their_order() -> None:
    async with emulated() as engine:
        host, _, port = engine.url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        body = b'{"prompt":"x","max_tokens":3}'
        post = b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b"
        writer.write(post % (len(body), body) + b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        writer.write(b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answered = await reader.read()
        writer.close()
    assert answered.count(b"HTTP/1.1 200") == 3
    assert answered.index(b"text_completion") < answered.index(b"content-length: 0")
    assert answered.endswith(b'"profile":"small"}}')


async def test_no_http_is_answered_and_closed() -> None:
    async with emulated() as engine:
        host, _, port = engine.url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"hello\r\n\r\n")
        answered = await reader.read()
        writer.close()
    assert answered.startswith(b"HTTP/1.1 400 ")


async def test_speed_changes_while_it_runs() -> None:
    async with emulated() as engine:
        assert (await engine.post("/emulator/speed", {"factor": 0.2})).json() == {"factor": 0.2}
        await engine.chat()
        status = (await engine.get("/emulator/status")).json()
        assert engine.scheduler.stats.decode_s == pytest.approx(3 * 1.1e-3 / 0.2)
    assert status["speed"] == 0.2
    assert status["finished"] == 1


@pytest.mark.parametrize("body", [b"{", b"{}", b'{"factor":0}', b'{"factor":"x"}', b'{"f":1}'])
async def test_a_wrong_speed_is_refused(body: bytes) -> None:
    async with emulated() as engine:
        answer = await engine.post("/emulator/speed", body)
        assert engine.server.engine.speed == 1.0
    assert answer.status_code == 400
    assert "accepted is" in answer.json()["detail"]


async def test_many_streams_share_the_steps() -> None:
    async with emulated(max_running=8) as engine:
        answers = await asyncio.gather(*(engine.chat(max_tokens=30, stream=True) for _ in range(8)))
        steps = engine.scheduler.stats.steps
    assert {len(contents(events(answer)).split()) for answer in answers} == {30}
    assert steps < 8 * 30


async def test_a_second_prompt_with_the_same_beginning_is_cached() -> None:
    prompt = "The quick brown fox. " * 10
    async with emulated() as engine:
        asked = {"prompt": prompt, "max_tokens": 2}
        one = (await engine.post("/v1/completions", asked)).json()
        two = (await engine.post("/v1/completions", asked)).json()
    cached = [answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in (one, two)]
    assert cached == [0, 48]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_body_that_is_too_large_is_refused(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proa.emulator.connection.MAX_BODY_BYTES", 100)
    async with emulated(kind=kind) as engine:
        answer: httpx.Response = await engine.post("/v1/completions", {"prompt": "x" * 200})
    assert answer.status_code == 413
