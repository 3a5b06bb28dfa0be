"""llama.cpp's chat completions and completions, event by event.

Source: recorded replies; every answer ends with `timings`.
"""

from proa.emulator.llamacpp_completion import timings
from proa.emulator.openai_answer import Json
from proa.emulator.openai_request import Prepared
from proa.emulator.sequence import Sequence

FINGERPRINT = "b0-emulated"


class LlamaCppAnswers:
    """The forms of the server in xllamacpp."""

    def opening_events(self, asked: Prepared) -> list[Json]:
        if not asked.is_chat:
            return []
        return [self._event(asked, [_delta({"role": "assistant", "content": None}, None)])]

    def piece(self, asked: Prepared, text: str) -> Json:
        if asked.is_chat:
            return self._event(asked, [_delta({"content": text}, None)])
        return self._event(asked, [_text(text, None)])

    def closing_events(self, asked: Prepared, text: str, sequence: Sequence) -> list[Json]:
        ending: Json = {"timings": timings(sequence)}
        if asked.wants_usage:
            ending = {"usage": _usage(sequence)} | ending
        events = [self.piece(asked, text)]
        if not asked.is_chat:
            events.append(self._event(asked, [_text("", asked.finish_reason)]) | ending)
            return events
        end = self._event(asked, [_delta({}, asked.finish_reason)])
        if not asked.wants_usage:
            return [*events, end | ending]
        return [*events, end, self._event(asked, []) | ending]

    def whole(self, asked: Prepared, sequence: Sequence) -> Json:
        text = asked.words.text(sequence.output_tokens)
        if asked.is_chat:
            message = {"role": "assistant", "content": text}
            choice: Json = {"finish_reason": asked.finish_reason, "index": 0, "message": message}
        else:
            choice = _text(text, asked.finish_reason)
        told = self._event(asked, [choice])
        told["object"] = "chat.completion" if asked.is_chat else "text_completion"
        return told | {"usage": _usage(sequence), "timings": timings(sequence)}

    def _event(self, asked: Prepared, choices: list[Json]) -> Json:
        return {
            "choices": choices,
            "created": asked.created,
            "id": asked.id,
            "model": asked.model,
            "system_fingerprint": FINGERPRINT,
            "object": "chat.completion.chunk" if asked.is_chat else "text_completion",
        }


def _delta(delta: Json, finish_reason: str | None) -> Json:
    return {"finish_reason": finish_reason, "index": 0, "delta": delta}


def _text(text: str, finish_reason: str | None) -> Json:
    return {"text": text, "index": 0, "logprobs": None, "finish_reason": finish_reason}


def _usage(sequence: Sequence) -> Json:
    return {
        "completion_tokens": sequence.generated,
        "prompt_tokens": sequence.prompt_tokens,
        "total_tokens": sequence.tokens,
        "prompt_tokens_details": {"cached_tokens": sequence.cached_tokens},
    }
