"""TGI's own `/generate` and `/generate_stream`.

Source: TGI 3.3.6-dev0, router/src/lib.rs (read, not run); a stream ends with its last
token, without `[DONE]`.
"""

import msgspec

from proa.emulator.exchange import LAST_CHUNK, AtOnce, event
from proa.emulator.openai_request import AskedCompletion, Invalid, Prepared
from proa.emulator.sequence import Sequence

Json = dict[str, object]


class _Parameters(msgspec.Struct):
    max_new_tokens: int | None = None
    details: bool = False
    seed: int | None = None


class _Native(msgspec.Struct):
    inputs: str | None = None
    parameters: _Parameters | None = None


def read_native(body: bytes) -> tuple[AskedCompletion, bool]:
    """The body as a completion, and whether details are wanted.

    Raises:
        Invalid: no JSON, or no `inputs`.
    """
    try:
        native = msgspec.json.decode(body, type=_Native)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid("", str(error)) from None
    if native.inputs is None:
        raise Invalid("inputs", "", is_missing=True)
    wanted = native.parameters or _Parameters()
    asked = AskedCompletion(
        prompt=native.inputs, max_tokens=wanted.max_new_tokens, seed=wanted.seed
    )
    return asked, wanted.details


class NativeStream:
    """One event per token; the last one has the whole text."""

    is_stream = True

    def __init__(self, asked: Prepared, *, wants_details: bool) -> None:
        self._asked = asked
        self._wants_details = wants_details

    def opening(self) -> bytes:
        return b""

    def token(self, number: int) -> bytes:
        return event(self._event(number) | {"generated_text": None, "details": None})

    def closing(self, sequence: Sequence) -> bytes:
        details = _details(self._asked, sequence) if self._wants_details else None
        text = self._asked.words.text(sequence.generated)
        last = self._event(sequence.generated) | {"generated_text": text, "details": details}
        return event(last) + LAST_CHUNK

    def _event(self, number: int) -> Json:
        return {"index": number, "token": _token(self._asked, number)}


class NativeWhole(AtOnce):
    """`generated_text`, with all tokens if details are wanted."""

    def __init__(self, asked: Prepared, *, wants_details: bool) -> None:
        self._asked = asked
        self._wants_details = wants_details

    def closing(self, sequence: Sequence) -> bytes:
        told: Json = {"generated_text": self._asked.words.text(sequence.generated)}
        if self._wants_details:
            tokens = [_token(self._asked, n) for n in range(1, sequence.generated + 1)]
            told["details"] = _details(self._asked, sequence) | {"prefill": [], "tokens": tokens}
        return msgspec.json.encode(told)


def _token(asked: Prepared, number: int) -> Json:
    text = asked.words.word(number).decode()
    return {"id": number, "text": text, "logprob": -1.0, "special": False}


def _details(asked: Prepared, sequence: Sequence) -> Json:
    return {
        "finish_reason": "length" if asked.finish_reason == "length" else "eos_token",
        "generated_tokens": sequence.generated,
        "seed": None,
        "input_length": sequence.prompt_tokens,
    }
