"""Calls that load and unload adapters, and what engines answer to them."""

import json

import pytest

from proa.domain.fleet import EngineKind
from proa.engines.lora import is_done, load_call, unload_call


def test_each_engine_has_its_own_path() -> None:
    call = load_call(EngineKind.VLLM, "law", "/adapters/law")
    assert call.path == "/v1/load_lora_adapter"
    assert json.loads(call.body) == {"lora_name": "law", "lora_path": "/adapters/law"}
    assert load_call(EngineKind.SGLANG, "law", "/x").path == "/load_lora_adapter"
    assert unload_call(EngineKind.VLLM, "law").path == "/v1/unload_lora_adapter"
    assert json.loads(unload_call(EngineKind.SGLANG, "law").body) == {"lora_name": "law"}
    with pytest.raises(KeyError):
        load_call(EngineKind.OLLAMA, "law", "/x")


@pytest.mark.parametrize(
    ("status", "body", "done"),
    [
        (200, b"Success: LoRA adapter 'law' added successfully.", True),
        (200, b'{"success": false, "error_message": "no"}', False),
        (400, b'{"error":{"message":"The lora adapter \'law\' has already been loaded."}}', True),
        (404, b'{"error":{"message":"The lora adapter \'law\' cannot be found."}}', True),
        (404, b'{"error":{"message":"No adapter found for /x"}}', False),
        (500, b"already on fire", False),
    ],
)
def test_what_is_as_it_should_be_is_done(status: int, body: bytes, done: bool) -> None:
    assert is_done(status, body) is done
