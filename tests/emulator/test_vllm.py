"""The emulated vLLM beside recorded replies of vLLM 0.32.0."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.emulator.emulated import Emulated, emulated, events
from tests.emulator.shapes import differences
from tests.engines.recorded import recorded, recorded_events

LORA = {"lora_slots": 2, "adapters": ("ad1",)}


@pytest.mark.parametrize(
    ("name", "path", "more"),
    [
        ("vllm/chat_stream_usage", "/v1/chat/completions", {"messages": "Say hello"}),
        ("vllm/completions_stream", "/v1/completions", {"prompt": "Once upon a time"}),
    ],
)
async def test_streams_have_the_events_of_the_real_ones(
    name: str, path: str, more: dict[str, Any]
) -> None:
    if "messages" in more:
        more = {"messages": [{"role": "user", "content": more["messages"]}]}
    real = [msgspec.json.decode(e) for e in recorded_events(name) if e != b"[DONE]"]
    asked = {"max_tokens": 4 if "chat" in name else 3, "stream": True} | more
    async with emulated() as engine:
        told = events(await engine.post(path, asked | {"stream_options": {"include_usage": True}}))
    assert told.pop() == "[DONE]"
    assert len(told) == len(real)
    for number, (one, other) in enumerate(zip(real, told, strict=True)):
        assert differences(one, other) in ([], ["$.usage.prompt_tokens_details.created_cache_tokens is missing"]), number  # noqa: E501  # fmt: skip


async def test_without_usage_the_last_event_has_the_fingerprint() -> None:
    async with emulated() as engine:
        told = events(await engine.chat(stream=True))
    assert told[-1] == "[DONE]"
    assert [("system_fingerprint" in e, "usage" in e) for e in told[:-1]] == [
        *[(False, False)] * 3,
        (True, False),
    ]


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("vllm/err_bad_json", "/v1/chat/completions", b'{"model":'),
        ("vllm/err_missing_messages", "/v1/chat/completions", b'{"model":"tiny"}'),
        ("vllm/err_bad_type", "/v1/completions", b'{"prompt":"x","max_tokens":"x"}'),
        ("vllm/err_too_long", "/v1/completions", b'{"prompt":"%b"}' % (b"x" * 2000)),
        (
            "vllm/err_too_long_stream",
            "/v1/completions",
            b'{"stream":true,"prompt":"%b"}' % (b"x" * 2000),
        ),
        ("vllm/err_max_tokens_too_large", "/v1/completions", b'{"prompt":"x","max_tokens":5000}'),
        ("vllm/err_unknown_model", "/v1/completions", b'{"model":"nope","prompt":"x"}'),
        ("vllm/err_unknown_model_stream", "/v1/completions", b'{"model":"nope","prompt":"x"}'),
        ("vllm/err_embeddings", "/v1/embeddings", b'{"model":"tiny","input":"x"}'),
    ],
)
async def test_errors_have_the_form_of_the_real_ones(name: str, path: str, body: bytes) -> None:
    real = recorded(name)
    async with emulated() as engine:
        told = await engine.post(path, body)
    assert told.status_code == real.status
    real_body = msgspec.json.decode(real.body)
    assert differences(real_body, told.json()) == []
    if "error" in real_body:
        assert told.json()["error"]["type"] == real_body["error"]["type"]


async def test_an_unknown_model_is_told_in_the_same_words() -> None:
    async with emulated() as engine:
        told = await engine.chat(model="nope")
    assert told.content == recorded("vllm/err_unknown_model").body


async def test_a_wrong_method_is_told_as_by_the_real_one() -> None:
    async with emulated() as engine:
        told = await engine.get("/v1/chat/completions")
    assert (told.status_code, told.content) == (405, recorded("vllm/err_405").body)
    assert told.headers["allow"] == "POST"


async def fill(engine: Emulated, requests: int) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.create_task(engine.chat(max_tokens=200)) for _ in range(requests)]
    await engine.until(running=requests)
    return tasks


async def test_a_full_queue_is_a_503_and_in_a_stream_an_event() -> None:
    async with emulated(max_queued=2, step_base_ms=20.0) as engine:
        tasks = await fill(engine, 2)
        whole, stream = await engine.chat(), await engine.chat(stream=True)
        for task in tasks:
            task.cancel()
        metrics = (await engine.get("/metrics")).text
    assert (whole.status_code, whole.content) == (503, recorded("vllm/err_admission_503").body)
    assert stream.status_code == 200
    real = [msgspec.json.decode(e) for e in recorded_events("vllm/err_admission_stream")[:1]]
    assert events(stream) == [*real, "[DONE]"]
    assert 'reason="max_num_queued_reqs"} 2.0' in metrics


async def test_an_output_that_does_not_fit_is_cut_at_the_context() -> None:
    async with emulated() as engine:
        told = (await engine.chat(max_tokens=256)).json()
    assert told["usage"]["total_tokens"] == 256
    assert told["choices"][0]["finish_reason"] == "length"


async def test_models_and_adapters_are_listed_as_by_the_real_one() -> None:
    real = msgspec.json.decode(recorded("vllm/lora_v1_models").body)
    async with emulated(**LORA) as engine:
        told = (await engine.get("/v1/models")).json()
    assert [card["parent"] for card in told["data"]] == [None, "tiny"]
    for one, other in zip(real["data"], told["data"], strict=True):
        assert differences(one, other) == []


async def test_adapters_are_loaded_used_and_unloaded() -> None:
    async with emulated(**LORA) as engine:
        load = {"lora_name": "ad2", "lora_path": "anywhere"}
        missing = await engine.chat(model="ad2")
        first = await engine.post("/v1/load_lora_adapter", load)
        again = await engine.post("/v1/load_lora_adapter", load)
        used = await engine.chat(model="ad2")
        in_slots = engine.scheduler.adapters.resident
        gone = await engine.post("/v1/unload_lora_adapter", {"lora_name": "ad2"})
        unknown = await engine.post("/v1/unload_lora_adapter", {"lora_name": "ad2"})
        broken = await engine.post("/v1/load_lora_adapter", b"{")
        pathless = await engine.post("/v1/load_lora_adapter", {"lora_name": "ad3"})
    assert [a.status_code for a in (missing, first, again, used)] == [404, 200, 400, 200]
    assert [a.status_code for a in (gone, unknown, broken, pathless)] == [200, 404, 400, 400]
    assert first.text == "Success: LoRA adapter 'ad2' added successfully."
    assert again.content == recorded("vllm/lora_load_again").body
    assert used.json()["model"] == "ad2"
    assert in_slots == ("ad2",)


async def test_without_lora_there_is_no_way_to_load_adapters() -> None:
    async with emulated() as engine:
        told = await engine.post("/v1/load_lora_adapter", {"lora_name": "a", "lora_path": "b"})
    assert told.status_code == 404


async def test_metrics_have_the_labels_of_the_real_page() -> None:
    """The recorded page is trimmed: what it has of the emulated names is compared."""
    real = series(recorded("vllm/metrics_lora").body.decode())
    async with emulated(**LORA) as engine:
        await engine.chat(model="ad1")
        told = series((await engine.get("/metrics")).text)
    both = told.keys() & real.keys()
    assert len(both) >= 12
    assert {name: told[name] for name in both if not told[name] <= real[name]} == {}


def series(page: str) -> dict[str, set[str]]:
    """Name → label keys of its samples."""
    found: dict[str, set[str]] = {}
    for line in page.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, _, rest = line.partition("{")
        labels = rest.rpartition("}")[0]
        keys = {part.partition("=")[0].strip(' ",') for part in labels.split('",')}
        found.setdefault(name.split()[0], set()).update(keys - {""})
    return found


async def test_tokens_of_a_prompt_and_of_a_chat_are_counted() -> None:
    async with emulated() as engine:
        prompt = await engine.post("/tokenize", {"prompt": "x" * 20})
        chat = await engine.post("/tokenize", {"messages": [{"role": "user", "content": "x" * 20}]})
        wrong = await engine.post("/tokenize", b"[")
        load = await engine.get("/load")
    assert (prompt.json()["count"], chat.json()["count"]) == (5, 7)
    assert differences(msgspec.json.decode(recorded("vllm/tokenize_prompt").body), prompt.json()) == []  # noqa: E501  # fmt: skip
    assert wrong.status_code == 400
    assert load.json() == {"server_load": 0}
