"""What stands where in the requests of each API: one entry per kind of path that is forwarded.

Every string of a body is a text and is searched, unless an entry here says what else it is; so
a field that an engine invents tomorrow is searched as well. Paths are keys with `[]` for lists;
an entry holds for everything below it.
"""

import msgspec

from proa.guard.json_text import Path


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one API's request.

    `kept`: names, ids and switches that the engine acts on, never searched.
    `documents`: JSON values that stand for data (a tool's input): searched as one document,
    so that a key is context to its value, and numbers are searched, too.
    `media`: images and sound. `tools`: where the names of offered tools stand.
    `is_opaque`: no text at all, such as a model's file.
    """

    kept: frozenset[Path] = frozenset()
    documents: frozenset[Path] = frozenset()
    media: frozenset[Path] = frozenset()
    tools: frozenset[Path] = frozenset()
    is_opaque: bool = False


def _paths(*written: str) -> frozenset[Path]:
    return frozenset(tuple(each.replace("[]", ".[]").split(".")) for each in written)


_ENGINE = (
    "model", "stream", "service_tier", "kv_transfer_params", "bootstrap_host", "bootstrap_room",
    "cache_salt", "request_id", "rid", "lora_path", "adapters", "encoding_format", "dtype",
    "keep_alive", "format", "options", "truncate",
)  # fmt: skip
_CHAT = Places(
    kept=_paths(
        *_ENGINE, "messages[].role", "messages[].tool_call_id", "messages[].tool_name",
        "messages[].tool_calls[].id", "messages[].tool_calls[].type",
        "messages[].tool_calls[].function.name", "messages[].function_call.name",
        "messages[].content[].type", "messages[].content[].cache_control",
        "messages[].content[].image_url.detail", "messages[].content[].input_audio.format",
        "tools[].type", "tools[].function.name", "functions[].name", "tool_choice",
        "function_call", "response_format.type", "modalities", "reasoning_effort", "audio",
    ),
    documents=_paths("messages[].tool_calls[].function.arguments"),
    media=_paths(
        "messages[].content[].image_url", "messages[].content[].input_audio",
        "messages[].content[].audio_url", "messages[].content[].video_url",
        "messages[].content[].file", "messages[].content[].image", "messages[].images",
    ),
    tools=_paths("tools[].function.name", "functions[].name", "tools[].type"),
)  # fmt: skip
_PROMPTS = Places(
    kept=_paths(*_ENGINE, "input_type"),
    media=_paths("images", "image_data", "multi_modal_data", "prompt.multimodal_data"),
)
_RESPONSES = Places(
    kept=_paths(
        *_ENGINE, "previous_response_id", "conversation", "include", "truncation",
        "tool_choice", "input[].type", "input[].role", "input[].id", "input[].call_id",
        "input[].name", "input[].status", "input[].encrypted_content", "input[].content[].type",
        "input[].output[].type", "input[].content[].detail", "tools[].type", "tools[].name",
        "text.format.type", "reasoning.effort", "reasoning.summary",
    ),
    documents=_paths("input[].action", "input[].queries", "input[].results"),
    media=_paths(
        "input[].content[].image_url", "input[].content[].file_id", "input[].content[].file_data",
        "input[].content[].file_url", "input[].content[].input_audio",
        "input[].output[].image_url", "input[].output[].file_data", "input[].output.image_url",
        "input[].image_url", "input[].result",
    ),
    tools=_paths("tools[].name", "tools[].function.name", "tools[].type"),
)  # fmt: skip
_MESSAGES = Places(
    kept=_paths(
        *_ENGINE, "messages[].role", "messages[].content[].type", "messages[].content[].id",
        "messages[].content[].tool_use_id", "messages[].content[].name",
        "messages[].content[].signature", "messages[].content[].cache_control",
        "messages[].content[].content[].type", "messages[].content[].content[].cache_control",
        "messages[].content[].data", "system[].type", "system[].cache_control", "tools[].type",
        "tools[].name", "tools[].cache_control", "tool_choice", "thinking", "container",
    ),
    documents=_paths("messages[].content[].input"),
    media=_paths(
        "messages[].content[].source.data", "messages[].content[].source.url",
        "messages[].content[].source.file_id", "messages[].content[].source.media_type",
        "messages[].content[].source.type", "messages[].content[].content[].source.data",
        "messages[].content[].content[].source.url", "messages[].content[].content[].source.type",
        "messages[].content[].content[].source.media_type",
    ),
    tools=_paths("tools[].name"),
)  # fmt: skip
_OLLAMA_NAMES = Places(
    kept=_paths("model", "name", "source", "destination", "from", "quantize", "files", "adapters")
)
_TRITON = Places(
    kept=_paths(
        "id", "model_name", "model_version", "inputs[].name", "inputs[].datatype",
        "inputs[].parameters", "outputs", "parameters.lora_name",
    ),
    media=_paths("images", "image_data"),
)  # fmt: skip
_AUDIO = Places(kept=_paths(*_ENGINE, "voice", "response_format", "language"))
_EVERY_STRING = Places(
    kept=_paths("model"),
    tools=_paths("tools[].name", "tools[].function.name", "functions[].name"),
)

PATHS: dict[bytes, Places] = {
    b"/v1/chat/completions": _CHAT,
    b"/v1/completions": _PROMPTS,
    b"/v1/embeddings": _PROMPTS,
    b"/v1/responses": _RESPONSES,
    b"/v1/rerank": _PROMPTS,
    b"/v1/score": _PROMPTS,
    b"/v1/messages": _MESSAGES,
    b"/v1/messages/count_tokens": _MESSAGES,
    b"/tokenize": _CHAT,
    b"/detokenize": _PROMPTS,
    b"/api/chat": _CHAT,
    b"/api/generate": _PROMPTS,
    b"/api/embed": _PROMPTS,
    b"/api/embeddings": _PROMPTS,
    b"/api/create": _OLLAMA_NAMES,
} | dict.fromkeys(
    (b"/api/tags", b"/api/show", b"/api/ps", b"/api/version", b"/api/copy", b"/api/delete",
     b"/api/pull", b"/api/push"),
    _OLLAMA_NAMES,
)  # fmt: skip
PREFIXES: tuple[tuple[bytes, Places], ...] = (
    (b"/v1/audio/", _AUDIO),
    (b"/v2/models/", _TRITON),
    (b"/v2/", _TRITON),
    (b"/api/blobs/", Places(is_opaque=True)),
    (b"/v1/", _EVERY_STRING),
)


def places_of(path: bytes) -> Places:
    """The entry of a path (without its query); of an unknown one, every string is a text."""
    found = PATHS.get(path)
    if found is not None:
        return found
    return next((each for prefix, each in PREFIXES if path.startswith(prefix)), _EVERY_STRING)
