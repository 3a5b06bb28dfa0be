"""llama.cpp's own `/completion`, and the `timings` that end each of its answers.

Source: recorded replies; a stream ends with its last event, without `[DONE]`.
"""

import msgspec

from proa.emulator.exchange import LAST_CHUNK, AtOnce, event
from proa.emulator.openai_request import AskedCompletion, Invalid, Prepared
from proa.emulator.sequence import Sequence

Json = dict[str, object]


class _Native(msgspec.Struct):
    prompt: str | list[int] | None = None
    n_predict: int = -1
    stream: bool = False


def read_native(body: bytes) -> AskedCompletion:
    """The body as a completion; an `n_predict` below 1 is no limit.

    Raises:
        Invalid: no JSON, or no prompt.
    """
    try:
        native = msgspec.json.decode(body, type=_Native)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid("", str(error)) from None
    if native.prompt is None:
        raise Invalid("prompt", "", is_missing=True)
    limit = native.n_predict if native.n_predict > 0 else None
    return AskedCompletion(prompt=native.prompt, max_tokens=limit, stream=native.stream)


def timings(sequence: Sequence) -> Json:
    """How long prompt and answer took, by the emulated clock."""
    admitted_s, first_s = sequence.admitted_s or 0.0, sequence.first_token_s or 0.0
    prompt_ms = (first_s - admitted_s) * 1e3
    predicted_ms = ((sequence.finished_s or first_s) - first_s) * 1e3
    prompt_n = sequence.prompt_tokens - sequence.cached_tokens
    return {
        "cache_n": sequence.cached_tokens,
        "prompt_n": prompt_n,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / prompt_n,
        "prompt_per_second": prompt_n / prompt_ms * 1e3 if prompt_ms else 0.0,
        "predicted_n": sequence.generated,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": predicted_ms / sequence.generated,
        "predicted_per_second": sequence.generated / predicted_ms * 1e3 if predicted_ms else 0.0,
    }


class NativeStream:
    """Events without `[DONE]`; the last one says `"stop":true`."""

    is_stream = True

    def __init__(self, asked: Prepared) -> None:
        self._asked = asked

    def opening(self) -> bytes:
        return b""

    def token(self, number: int) -> bytes:
        return event(
            {
                "index": 0,
                "content": self._asked.words.word(number).decode(),
                "tokens": [number],
                "stop": False,
                "id_slot": -1,
                "tokens_predicted": number,
                "tokens_evaluated": self._asked.prompt_tokens,
            }
        )

    def closing(self, sequence: Sequence) -> bytes:
        last = self.token(sequence.generated)
        return last + event(_ending(self._asked, sequence, "")) + LAST_CHUNK


class NativeWhole(AtOnce):
    """The ending with the whole text in it."""

    def __init__(self, asked: Prepared) -> None:
        self._asked = asked

    def closing(self, sequence: Sequence) -> bytes:
        text = self._asked.words.text(sequence.generated)
        return msgspec.json.encode(_ending(self._asked, sequence, text))


def _ending(asked: Prepared, sequence: Sequence, text: str) -> Json:
    return {
        "index": 0,
        "content": text,
        "tokens": [],
        "id_slot": 0,
        "stop": True,
        "model": asked.model,
        "tokens_predicted": sequence.generated,
        "tokens_evaluated": sequence.prompt_tokens,
        "truncated": False,
        "stop_type": "limit" if asked.finish_reason == "length" else "eos",
        "stopping_word": "",
        "tokens_cached": sequence.tokens - 1,
        "timings": timings(sequence),
    }
