"""TGI's chat completions and completions, event by event.

Source: TGI 3.3.6-dev0, router/src (read, not run).
"""

from proa.emulator.openai_answer import Json
from proa.emulator.openai_request import Prepared
from proa.emulator.sequence import Sequence

FINGERPRINT = "3.3.6-dev0-emulated"


class TgiAnswers:
    """The forms of version 3.3.6-dev0."""

    def opening_events(self, asked: Prepared) -> list[Json]:
        return []

    def piece(self, asked: Prepared, text: str) -> Json:
        return self._event(asked, [_choice(asked, text, None)])

    def closing_events(self, asked: Prepared, text: str, sequence: Sequence) -> list[Json]:
        events = [self._event(asked, [_choice(asked, text, asked.finish_reason)])]
        if asked.wants_usage:
            events.append(self._event(asked, []) | {"usage": _usage(sequence)})
        return events

    def whole(self, asked: Prepared, sequence: Sequence) -> Json:
        text = asked.words.text(sequence.output_tokens)
        end = {"logprobs": None, "finish_reason": asked.finish_reason}
        message = {"role": "assistant", "content": text}
        said: Json = {"message": message} if asked.is_chat else {"text": text}
        told = self._event(asked, [{"index": 0} | said | end])
        told["object"] = "chat.completion" if asked.is_chat else "text_completion"
        return told | {"usage": _usage(sequence)}

    def _event(self, asked: Prepared, choices: list[Json]) -> Json:
        return {
            "object": "chat.completion.chunk" if asked.is_chat else "text_completion",
            "id": asked.id,
            "created": asked.created,
            "model": asked.model,
            "system_fingerprint": FINGERPRINT,
            "choices": choices,
            "usage": None,
        }


def _choice(asked: Prepared, text: str, finish_reason: str | None) -> Json:
    end = {"logprobs": None, "finish_reason": finish_reason}
    if asked.is_chat:
        return {"index": 0, "delta": {"role": "assistant", "content": text}} | end
    return {"index": 0, "text": text} | end


def _usage(sequence: Sequence) -> Json:
    return {
        "prompt_tokens": sequence.prompt_tokens,
        "completion_tokens": sequence.generated,
        "total_tokens": sequence.tokens,
    }
