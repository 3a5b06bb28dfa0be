"""The emulated TGI: its forms come from the router's source, not from a recording."""

import asyncio
from typing import Any

import pytest
from tests.emulator.emulated import HELLO, emulated, events

KIND: dict[str, Any] = {"kind": "tgi"}


async def test_a_stream_ends_with_the_reason_in_the_last_token() -> None:
    async with emulated(**KIND) as engine:
        told = events(await engine.chat(stream=True, stream_options={"include_usage": True}))
    assert told[-1] == "[DONE]"
    assert [e["choices"][0]["finish_reason"] for e in told[:3]] == [None, None, "length"]
    assert told[3]["choices"] == []
    assert told[3]["usage"]["completion_tokens"] == 3


async def test_generate_gives_text_and_details() -> None:
    asked = {"inputs": "Once upon a time", "parameters": {"max_new_tokens": 3, "details": True}}
    async with emulated(**KIND) as engine:
        whole = (await engine.post("/generate", asked)).json()
        plain = (await engine.post("/generate", {"inputs": "Once"})).json()
        told = events(await engine.post("/generate_stream", asked))
    assert whole["generated_text"] == told[-1]["generated_text"]
    assert [t["id"] for t in whole["details"]["tokens"]] == [1, 2, 3]
    details = {"finish_reason": "length", "generated_tokens": 3, "seed": None, "input_length": 4}
    assert told[-1]["details"] == details
    assert [e["index"] for e in told] == [1, 2, 3]
    assert [e["generated_text"] for e in told[:2]] == [None, None]
    assert list(plain) == ["generated_text"]


async def test_an_overloaded_router_says_429_and_in_a_stream_an_event() -> None:
    async with emulated(**KIND, max_queued=1, step_base_ms=20.0) as engine:
        task = asyncio.create_task(engine.chat(max_tokens=200))
        await engine.until(running=1)
        whole, stream = await engine.chat(), await engine.chat(stream=True)
        native = await engine.post("/generate_stream", {"inputs": "x"})
        info = (await engine.get("/info")).json()
        task.cancel()
    body = {"error": "Model is overloaded", "error_type": "overloaded"}
    assert (whole.status_code, whole.json()) == (429, body)
    inner = {"message": "Model is overloaded", "http_status_code": 429}
    assert (stream.status_code, events(stream)) == (200, [{"error": inner}])
    assert (native.status_code, events(native)) == (200, [body])
    assert info["max_concurrent_requests"] == 1


async def test_what_does_not_fit_is_a_validation_error() -> None:
    async with emulated(**KIND) as engine:
        prompt = await engine.post("/generate", {"inputs": "x" * 2000})
        output = await engine.chat(max_tokens=255)
        stream = await engine.chat(max_tokens=255, stream=True)
    assert [prompt.status_code, output.status_code, stream.status_code] == [422, 422, 200]
    assert prompt.json()["error_type"] == "validation"
    assert "`inputs` must have less than 256 tokens. Given: 500" in prompt.json()["error"]
    assert events(stream)[0]["error"]["http_status_code"] == 422


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/generate", b"{", 400),
        ("/generate", b"{}", 422),
        ("/v1/chat/completions", b"{", 400),
        ("/v1/chat/completions", b'{"stream":true}', 422),
        ("/tokenize", b"{", 400),
        ("/nope", b"{}", 404),
        ("/info", b"{}", 405),
    ],
)
async def test_other_errors_are_plain_text(path: str, body: bytes, status: int) -> None:
    async with emulated(**KIND) as engine:
        told = await engine.post(path, body)
    assert told.status_code == status
    assert told.headers["content-type"].startswith("text/plain")


async def test_what_it_tells_of_itself() -> None:
    async with emulated(**KIND) as engine:
        await engine.post("/v1/chat/completions", {"messages": HELLO, "max_tokens": 3})
        info = (await engine.get("/info")).json()
        metrics = (await engine.get("/metrics")).text
        health = await engine.get("/health")
        tokens = (await engine.post("/tokenize", {"inputs": "x" * 20})).json()
    assert (info["max_input_tokens"], info["max_total_tokens"]) == (255, 256)
    assert info["max_concurrent_requests"] == 2**31 - 1
    assert "tgi_request_success 1.0\n" in metrics
    assert "tgi_batch_current_size 0.0\n" in metrics
    assert (health.status_code, len(tokens)) == (200, 5)
