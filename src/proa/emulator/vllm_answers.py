"""vLLM's chat completions and completions, event by event.

Source: vLLM 0.32.0, recorded replies.
"""

from proa.emulator.openai_answer import Json
from proa.emulator.openai_request import Prepared
from proa.emulator.sequence import Sequence

FINGERPRINT = "vllm-0.32.0-emulated"


class VllmAnswers:
    """The forms of version 0.32."""

    def opening_events(self, asked: Prepared) -> list[Json]:
        if not asked.is_chat:
            return []
        delta = {"role": "assistant", "content": ""}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        return [_chunk(asked, [choice]) | {"prompt_token_ids": None, "prompt_text": None}]

    def piece(self, asked: Prepared, text: str) -> Json:
        if asked.is_chat:
            choice = {
                "index": 0,
                "delta": {"content": text},
                "logprobs": None,
                "finish_reason": None,
                "token_ids": None,
            }
        else:
            choice = {
                "index": 0,
                "text": text,
                "logprobs": None,
                "finish_reason": None,
                "stop_reason": None,
                "prompt_token_ids": None,
                "token_ids": None,
            }
        return _chunk(asked, [choice])

    def closing_events(self, asked: Prepared, text: str, sequence: Sequence) -> list[Json]:
        last = self.piece(asked, text)
        last["choices"][0] |= {  # type: ignore[index]
            "finish_reason": asked.finish_reason,
            "stop_reason": None,
        }
        if not asked.wants_usage:
            return [last | {"system_fingerprint": FINGERPRINT}]
        usage = _chunk(asked, []) | {"usage": _usage(sequence), "system_fingerprint": FINGERPRINT}
        return [last, usage]

    def whole(self, asked: Prepared, sequence: Sequence) -> Json:
        text = asked.words.text(sequence.output_tokens)
        choice: Json = {"index": 0}
        if asked.is_chat:
            choice["message"] = {
                "role": "assistant",
                "content": text,
                "refusal": None,
                "annotations": None,
                "audio": None,
                "function_call": None,
                "reasoning": None,
            }
        else:
            choice["text"] = text
        choice |= {"logprobs": None, "finish_reason": asked.finish_reason, "stop_reason": None}
        return {
            "id": asked.id,
            "object": "chat.completion" if asked.is_chat else "text_completion",
            "created": asked.created,
            "model": asked.model,
            "choices": [choice],
            "service_tier": None,
            "system_fingerprint": FINGERPRINT,
            "usage": _usage(sequence),
            "kv_transfer_params": None,
            "metrics": None,
        }


def _chunk(asked: Prepared, choices: list[Json]) -> Json:
    return {
        "id": asked.id,
        "object": "chat.completion.chunk" if asked.is_chat else "text_completion",
        "created": asked.created,
        "model": asked.model,
        "choices": choices,
    }


def _usage(sequence: Sequence) -> Json:
    return {
        "prompt_tokens": sequence.prompt_tokens,
        "total_tokens": sequence.tokens,
        "completion_tokens": sequence.generated,
        "prompt_tokens_details": {"cached_tokens": sequence.cached_tokens},
    }
