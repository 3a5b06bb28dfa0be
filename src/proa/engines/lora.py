"""How engines are told to load and unload LoRA adapters while they run.

vLLM needs `--enable-lora` and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True in its environment,
SGLang `--enable-lora`.
"""

import msgspec

from proa.domain.fleet import EngineKind

_PREFIX = {EngineKind.VLLM: "/v1", EngineKind.SGLANG: ""}


class AdapterCall(msgspec.Struct, frozen=True):
    """A POST that changes what an engine has loaded."""

    path: str
    body: bytes


def load_call(kind: EngineKind, name: str, path: str) -> AdapterCall:
    """Load the adapter whose files the engine finds under `path`.

    Raises:
        KeyError: an engine of this kind cannot.
    """
    body = {"lora_name": name, "lora_path": path}
    return AdapterCall(f"{_PREFIX[kind]}/load_lora_adapter", msgspec.json.encode(body))


def unload_call(kind: EngineKind, name: str) -> AdapterCall:
    """Unload the adapter.

    Raises:
        KeyError: an engine of this kind cannot.
    """
    body = {"lora_name": name}
    return AdapterCall(f"{_PREFIX[kind]}/unload_lora_adapter", msgspec.json.encode(body))


def is_done(status: int, body: bytes) -> bool:
    """Whether the engine is now as it should be; another worker may have been first."""
    if status < 300:
        return b'"success":false' not in body.replace(b" ", b"")
    text = body.lower()
    return status in (400, 404) and (b"already" in text or b"cannot be found" in text)
