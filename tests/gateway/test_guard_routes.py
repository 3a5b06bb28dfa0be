"""Every path that is forwarded: what is personal in its body never reaches an engine."""

import json
from typing import Any

import pytest
from tests.gateway.apis import APIS
from tests.gateway.guarded import MAIL, PHONE, RESIDENT, SECRETS, guarding

from proa.guard.places import PATHS, PREFIXES
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.wire import surface

SAID = f"{PHONE} / {MAIL} / 주민번호 {RESIDENT}"
ARGUMENTS = json.dumps({"a": SAID})
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}}
MESSAGES = [
    {"role": "system", "content": SAID},
    {"role": "user", "content": [{"type": "text", "text": SAID}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": SAID},
]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES},
    "/v1/completions": {"prompt": [SAID, SAID]},
    "/v1/embeddings": {"input": [SAID]},
    "/v1/responses": {"instructions": SAID, "input": [
        {"role": "user", "content": [{"type": "input_text", "text": SAID}]},
        {"type": "function_call_output", "call_id": "1", "output": SAID}]},
    "/v1/rerank": {"query": SAID, "documents": [SAID, {"text": SAID}]},
    "/v1/score": {"text_1": SAID, "text_2": [SAID]},
    "/v1/messages": {"max_tokens": 9, "system": [{"type": "text", "text": SAID}], "messages": [
        {"role": "user", "content": SAID},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "1", "name": "f", "input": {"a": SAID}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": SAID}]}]},
    "/v1/messages/count_tokens": {"messages": [{"role": "user", "content": SAID}]},
    "/tokenize": {"prompt": SAID},
    "/detokenize": {"tokens": [1], "note": SAID},
    "/api/chat": {"messages": [{"role": "user", "content": SAID}]},
    "/api/generate": {"prompt": SAID, "system": SAID},
    "/api/embed": {"input": [SAID]},
    "/api/embeddings": {"prompt": SAID},
    "/v2/models/scripted/generate": {"text_input": SAID},
    "/v2/models/scripted/infer": {"inputs": [{"name": "text_input", "data": [SAID]}]},
    "/v1/anything-else": {"words": {"deep": [SAID]}},
}  # fmt: skip
NOT_ASKED = {"/api/create", "/api/tags", "/api/show", "/api/ps", "/api/version", "/api/copy",
             "/api/delete", "/api/pull", "/api/push"}  # fmt: skip
"""Of Ollama, about models and without a prompt; `/api/create` below."""


def test_no_path_is_left_out() -> None:
    paths = {path.decode() for path in surface._EXACT} | {path.decode() for path in PATHS}
    assert paths - NOT_ASKED <= BODIES.keys()
    prefixes = {prefix for prefix, _ in surface._PREFIXES}
    assert prefixes == {prefix for prefix, _ in PREFIXES}


@pytest.mark.parametrize("mode", ["mask", "token", "block"])
async def test_nothing_personal_reaches_an_engine(mode: Any) -> None:
    def answer(_: Any) -> Any:
        return json_reply({"ok": True})

    async with ScriptedEngine(answer) as engine, guarding(engine, mode=mode) as gateway:
        told = ""
        for path, fields in BODIES.items():
            got = await gateway.ask(json_request({"model": "scripted"} | fields, path))
            assert got.status == (400 if mode == "block" else 200), path
            told += repr(got.head) + got.body.data.decode()
        got = await gateway.ask(json_request({"model": "scripted", "system": SAID}, "/api/create"))
        assert got.status in (200, 400, 503)
        seen = b"\n".join(bytes(request.body) for request in engine.requests).decode()
        assert len(engine.requests) >= (0 if mode == "block" else len(BODIES))
        told += seen + repr(gateway.records) + repr(gateway.plane.guard)
        assert not any(secret in told for secret in SECRETS)


async def test_a_forms_fields_are_searched_too() -> None:
    form = (
        b'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nscripted\r\n'
        b'--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n%b\r\n'
        b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\xff\r\n'
        b"--b--\r\n" % SAID.encode()
    )
    kind = ("content-type", "multipart/form-data; boundary=b")
    async with ScriptedEngine() as engine, guarding(engine) as gateway:
        await gateway.ask(request_bytes("/v1/audio/transcriptions", form, headers=(kind,)))
        got = bytes(engine.requests[0].body)
        assert b"RIFF\xff" in got
        assert not any(secret.encode() in got for secret in SECRETS)


@pytest.mark.parametrize("name", APIS)
async def test_a_stream_without_anything_personal_passes_byte_for_byte(name: str) -> None:
    api = APIS[name]
    async with ScriptedEngine(lambda _: api.reply()) as engine, guarding(engine) as gateway:
        answer = await gateway.ask(api.request)
        assert answer.body.data == api.whole
