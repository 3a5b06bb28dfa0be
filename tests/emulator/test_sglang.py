"""The emulated SGLang beside recorded replies of SGLang 0.5.23."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.emulator.emulated import HELLO, emulated, events
from tests.emulator.shapes import differences
from tests.emulator.test_vllm import series
from tests.engines.recorded import recorded, recorded_events


@pytest.mark.parametrize(
    ("name", "path", "asked"),
    [
        ("sglang/chat_stream_usage", "/v1/chat/completions", {"messages": HELLO, "max_tokens": 4}),
        ("sglang/completions_stream", "/v1/completions", {"prompt": "Once", "max_tokens": 3}),
    ],
)
async def test_streams_have_the_events_of_the_real_ones(
    name: str, path: str, asked: dict[str, Any]
) -> None:
    real = [msgspec.json.decode(e) for e in recorded_events(name) if e != b"[DONE]"]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    async with emulated(kind="sglang") as engine:
        told = events(await engine.post(path, asked | options))
    assert told.pop() == "[DONE]"
    assert len(told) == len(real)
    # Usage of a completion lacks two keys that usage of a chat has.
    lenient = {f"$.usage.{key} is not in the real one" for key in ("prompt_tokens_details", "completion_tokens_details")}  # noqa: E501  # fmt: skip
    for one, other in zip(real, told, strict=True):
        assert set(differences(one, other)) <= lenient


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("sglang/err_bad_json", b'{"model":'),
        ("sglang/err_missing_messages", b'{"model":"tiny"}'),
        ("sglang/err_max_tokens_too_large", msgspec.json.encode({"messages": HELLO, "max_tokens": 5000})),  # noqa: E501
        ("sglang/err_too_long", msgspec.json.encode({"messages": [{"role": "user", "content": "x" * 2000}]})),  # noqa: E501
    ],
)  # fmt: skip
async def test_errors_are_flat(name: str, body: bytes) -> None:
    real = recorded(name)
    async with emulated(kind="sglang") as engine:
        told = await engine.post("/v1/chat/completions", body)
    assert told.status_code == real.status
    real_body = msgspec.json.decode(real.body)
    assert differences(real_body, told.json()) == []
    assert told.json()["type"] == real_body["type"]


async def test_a_full_queue_is_a_503_and_in_a_stream_an_event() -> None:
    async with emulated(kind="sglang", max_queued=1, max_running=1, step_base_ms=20.0) as engine:
        tasks = [asyncio.create_task(engine.chat(max_tokens=200)) for _ in range(2)]
        await engine.until(running=1, waiting=1)
        whole, stream = await engine.chat(), await engine.chat(stream=True)
        loads = (await engine.get("/v1/loads")).json()["loads"][0]
        for task in tasks:
            task.cancel()
    assert (whole.status_code, whole.content) == (503, recorded("sglang/err_queue_full_503").body)
    real = [msgspec.json.decode(e) for e in recorded_events("sglang/err_queue_full_stream")[:1]]
    assert (stream.status_code, events(stream)) == (200, [*real, "[DONE]"])
    assert (loads["num_running_reqs"], loads["num_waiting_reqs"]) == (1, 1)


async def test_any_model_is_accepted_and_echoed() -> None:
    async with emulated(kind="sglang") as engine:
        assert (await engine.chat(model="nope")).json()["model"] == "nope"


async def test_what_it_tells_of_itself_is_formed_as_by_the_real_one() -> None:
    async with emulated(kind="sglang") as engine:
        for name, path in (
            ("v1_models", "/v1/models"),
            ("v1_loads", "/v1/loads?include=core"),
        ):
            told = (await engine.get(path)).json()
            found = differences(msgspec.json.decode(recorded(f"sglang/{name}").body), told)
            assert [line for line in found if not line.endswith("is missing")] == [], name
        server = (await engine.get("/server_info")).json()
        tokens = (await engine.post("/v1/tokenize", {"prompt": "x" * 20})).json()
        info = (await engine.get("/model_info")).json()
        wrong = await engine.post("/tokenize", b"{}")
    assert (server["max_total_num_tokens"], server["version"]) == (1024, "0.5.23")
    assert tokens["count"] == 5
    assert info["served_model_name"] == "tiny"
    assert wrong.status_code == 400


async def test_metrics_have_the_labels_of_the_real_page() -> None:
    """The recorded page is trimmed: what it has of the emulated names is compared."""
    real = series(recorded("sglang/metrics_under_load").body.decode())
    async with emulated(kind="sglang") as engine:
        await engine.chat()
        told = series((await engine.get("/metrics")).text)
    both = told.keys() & real.keys()
    assert len(both) >= 8
    assert {name: told[name] for name in both if not told[name] <= real[name]} == {}


async def test_gauges_on_the_metrics_page_are_behind() -> None:
    async with emulated(kind="sglang") as engine:
        before = (await engine.get("/metrics")).text
        await engine.chat()
        assert (await engine.get("/metrics")).text == before
