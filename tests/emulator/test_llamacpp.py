"""The emulated llama.cpp server beside recorded replies of the real one."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.emulator.emulated import HELLO, emulated, events
from tests.emulator.shapes import differences
from tests.engines.recorded import recorded, recorded_events

KIND: dict[str, Any] = {"kind": "llamacpp", "max_running": 2}


@pytest.mark.parametrize(
    ("name", "path", "asked"),
    [
        ("llamacpp/chat_stream_usage", "/v1/chat/completions", {"messages": HELLO, "max_tokens": 8, "stream_options": {"include_usage": True}}),  # noqa: E501
        ("llamacpp/chat_stream_nousage", "/v1/chat/completions", {"messages": HELLO, "max_tokens": 4}),  # noqa: E501
        ("llamacpp/completions_stream", "/v1/completions", {"prompt": "Once", "max_tokens": 4, "stream_options": {"include_usage": True}}),  # noqa: E501
    ],
)  # fmt: skip
async def test_streams_have_the_events_of_the_real_ones(
    name: str, path: str, asked: dict[str, Any]
) -> None:
    real = [msgspec.json.decode(e) for e in recorded_events(name) if e != b"[DONE]"]
    async with emulated(**KIND) as engine:
        told = events(await engine.post(path, asked | {"stream": True}))
    assert told.pop() == "[DONE]"
    assert len(told) == len(real)
    for one, other in zip(real, told, strict=True):
        assert differences(one, other) == []


async def test_its_own_completion_is_streamed_and_whole() -> None:
    real = [msgspec.json.decode(e) for e in recorded_events("llamacpp/native_completion_stream")]
    asked = {"prompt": "Once upon a time", "n_predict": 4}
    async with emulated(**KIND) as engine:
        told = events(await engine.post("/completion", asked | {"stream": True}))
        whole = (await engine.post("/completion", asked)).json()
        free = (await engine.post("/completion", {"prompt": [1, 2, 3]})).json()
        wrong = [await engine.post("/completion", body) for body in (b"{", b"{}")]
    assert len(told) == len(real)
    for one, other in zip(real, told, strict=True):
        assert [d for d in differences(one, other) if not d.endswith("is missing")] == []
    assert whole["content"] == "".join(e["content"] for e in told)
    assert (free["tokens_evaluated"], free["tokens_predicted"]) == (3, 128)
    assert [answer.status_code for answer in wrong] == [400, 400]


async def test_no_head_is_sent_before_the_first_token() -> None:
    async with emulated(**KIND, step_base_ms=5.0) as engine:
        tasks = [asyncio.create_task(engine.chat(max_tokens=200)) for _ in range(2)]
        await engine.until(running=2)
        body = {"messages": HELLO, "max_tokens": 2, "stream": True}
        waits = asyncio.create_task(engine.post("/v1/chat/completions", body))
        await engine.until(running=2, waiting=1)
        host, _, port = engine.url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        data = msgspec.json.encode(body)
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % len(data) + data)
        await engine.until(running=2, waiting=2)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.05)
        writer.close()
        for task in (*tasks, waits):
            task.cancel()


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("llamacpp/err_bad_json", "/v1/chat/completions", b'{"messages":'),
        ("llamacpp/err_missing_messages", "/v1/chat/completions", b'{"model":"x"}'),
        ("llamacpp/err_too_long", "/v1/completions", b'{"prompt":"%b"}' % (b"x" * 2000)),
        ("llamacpp/err_too_long_stream", "/v1/completions", b'{"stream":true,"prompt":"%b"}' % (b"x" * 2000)),  # noqa: E501
        ("llamacpp/err_404", "/v1/nope", b"{}"),
    ],
)  # fmt: skip
async def test_errors_have_the_form_of_the_real_ones(name: str, path: str, body: bytes) -> None:
    real = recorded(name)
    async with emulated(**KIND) as engine:
        told = await engine.post(path, body)
    assert told.status_code == real.status
    real_body = msgspec.json.decode(real.body)
    assert differences(real_body, told.json()) == []
    assert told.json()["error"]["type"] == real_body["error"]["type"]


async def test_any_model_is_accepted_and_answered_with_the_alias() -> None:
    async with emulated(**KIND) as engine:
        assert (await engine.chat(model="nope")).json()["model"] == "tiny"


async def test_full_slots_are_told_where_asked() -> None:
    async with emulated(**KIND, step_base_ms=20.0) as engine:
        idle = await engine.get("/slots?fail_on_no_slot=1")
        tasks = [asyncio.create_task(engine.chat(max_tokens=200)) for _ in range(3)]
        await engine.until(running=2, waiting=1)
        full = await engine.get("/slots?fail_on_no_slot=1")
        busy = (await engine.get("/slots")).json()
        metrics = (await engine.get("/metrics")).text
        for task in tasks:
            task.cancel()
    assert (idle.status_code, full.status_code) == (200, 503)
    assert [slot["is_processing"] for slot in busy] == [True, True]
    assert "llamacpp:requests_processing 2\n" in metrics
    assert "llamacpp:requests_deferred 1\n" in metrics


async def test_a_full_queue_is_a_503() -> None:
    async with emulated(**KIND, max_queued=0, step_base_ms=20.0) as engine:
        tasks = [asyncio.create_task(engine.chat(max_tokens=200)) for _ in range(2)]
        await engine.until(running=2)
        told = await engine.chat(stream=True)
        for task in tasks:
            task.cancel()
    assert told.status_code == 503


async def test_what_it_tells_of_itself_is_formed_as_by_the_real_one() -> None:
    async with emulated(**KIND) as engine:
        for name, path in (
            ("v1_models", "/v1/models"),
            ("props", "/props"),
            ("slots_idle", "/slots"),
            ("health", "/health"),
        ):
            told = (await engine.get(path)).json()
            found = differences(msgspec.json.decode(recorded(f"llamacpp/{name}").body), told)
            assert [line for line in found if not line.endswith("is missing")] == [], name
        names = [
            line.split()[2]
            for line in (await engine.get("/metrics")).text.splitlines()
            if line.startswith("# TYPE")
        ]
        tokens = (await engine.post("/tokenize", {"content": "x" * 20})).json()["tokens"]
        wrong = await engine.post("/tokenize", b"{")
        adapters = (await engine.get("/lora-adapters")).json()
    real = recorded("llamacpp/metrics_after_load").body.decode()
    assert [name for name in names if f"# TYPE {name} " not in real] == []
    assert (len(tokens), wrong.status_code, adapters) == (5, 400, [])
