"""Which strings of an answer are no text, and which values repeat its text in another form."""

from proa.guard.json_text import Path

_KEPT = frozenset(
    ("id", "object", "model", "model_name", "model_version", "role", "type", "finish_reason",
     "stop_reason", "status", "system_fingerprint", "service_tier", "call_id", "item_id",
     "tool_call_id", "tool_use_id", "created_at", "signature", "encrypted_content", "b64_json",
     "embedding", "previous_response_id", "response_id", "event_id", "done_reason", "datatype",
     "obfuscation")
)  # fmt: skip
_NAMED = frozenset(
    (("function", "name"), ("function_call", "name"), ("item", "name"), ("content_block", "name"),
     ("outputs", "[]", "name"), ("content", "[]", "name"), ("output", "[]", "name"),
     ("tools", "[]", "name"))
)  # fmt: skip
_DATA = frozenset((("data",), ("audio", "data"), ("content_block", "data"), ("image",)))
_ECHOES = frozenset(
    ("logprobs", "prompt_logprobs", "token_ids", "output_ids", "completion_probabilities",
     "tokens", "output_token_logprobs", "output_top_logprobs", "context", "probs")
)  # fmt: skip
_DOCUMENTS = frozenset(
    (("content", "[]", "input"), ("function", "arguments"), ("content_block", "input"))
)


def is_kept(path: Path) -> bool:
    """Names, ids and states, that clients act on."""
    if not path:
        return False
    last = path[-1:], path[-2:], path[-3:]
    return path[-1] in _KEPT or not _NAMED.isdisjoint(last) or not _DATA.isdisjoint(last)


def is_echo(path: Path) -> bool:
    """Tokens of the text one by one, as numbers or with their probabilities.

    They would tell what an edit took away, so they go where there was an edit.
    """
    return bool(path) and path[-1] in _ECHOES


def is_document(path: Path) -> bool:
    """JSON values that are data: what the model gives to a tool."""
    return path[-2:] in _DOCUMENTS or path[-3:] in _DOCUMENTS
