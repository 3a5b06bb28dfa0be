"""SGLang's chat completions and completions, event by event.

Source: SGLang 0.5.23, recorded replies. A chat ends with an event of its own.
"""

from proa.emulator.openai_answer import Json
from proa.emulator.openai_request import Prepared
from proa.emulator.sequence import Sequence


class SglangAnswers:
    """The forms of version 0.5.23."""

    def opening_events(self, asked: Prepared) -> list[Json]:
        if not asked.is_chat:
            return []
        delta: Json = {"reasoning_content": None, "role": "assistant", "content": ""}
        return [_chunk(asked, [_choice({"delta": delta}, None)])]

    def piece(self, asked: Prepared, text: str) -> Json:
        if asked.is_chat:
            delta: Json = {"reasoning_content": None, "content": text}
            return _chunk(asked, [_choice({"delta": delta}, None)])
        return _chunk(asked, [_choice({"text": text}, None)]) | {"usage": None}

    def closing_events(self, asked: Prepared, text: str, sequence: Sequence) -> list[Json]:
        if asked.is_chat:
            delta: Json = {"reasoning_content": None}
            end = _chunk(asked, [_choice({"delta": delta}, asked.finish_reason)])
            events = [self.piece(asked, text), end]
        else:
            end = _chunk(asked, [_choice({"text": text}, asked.finish_reason)])
            events = [end | {"usage": None}]
        if asked.wants_usage:
            events.append(_chunk(asked, []) | {"usage": _usage(sequence)})
        return events

    def whole(self, asked: Prepared, sequence: Sequence) -> Json:
        text = asked.words.text(sequence.output_tokens)
        message = {"role": "assistant", "content": text, "reasoning_content": None}
        said: Json = {"message": message} if asked.is_chat else {"text": text}
        return {
            "id": asked.id,
            "object": "chat.completion" if asked.is_chat else "text_completion",
            "created": asked.created,
            "model": asked.model,
            "choices": [_choice(said, asked.finish_reason)],
            "usage": _usage(sequence),
            "metadata": {"weight_version": "default"},
        }


def _chunk(asked: Prepared, choices: list[Json]) -> Json:
    return {
        "id": asked.id,
        "object": "chat.completion.chunk" if asked.is_chat else "text_completion",
        "created": asked.created,
        "model": asked.model,
        "choices": choices,
    }


def _choice(said: Json, finish_reason: str | None) -> Json:
    end = {"logprobs": None, "finish_reason": finish_reason, "matched_stop": None}
    return {"index": 0} | said | end


def _usage(sequence: Sequence) -> Json:
    return {
        "prompt_tokens": sequence.prompt_tokens,
        "total_tokens": sequence.tokens,
        "completion_tokens": sequence.generated,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
        "completion_tokens_details": None,
    }
