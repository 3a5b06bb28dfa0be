"""OpenAI's text APIs for TGI's own `/generate` and `/generate_stream`.

Source: TGI 3.3.6-dev0, router/src/lib.rs, validation.rs and server.rs (read, not run).
Its validation wants temperature > 0, 0 < top_p < 1 and top_k > 0: what says "off" or
"everything" in OpenAI's terms is left out.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from proa.wire.translate.base import UNREADABLE, Context, Untranslatable, is_error, json
from proa.wire.translate.openai_prompt import PromptTranslation
from proa.wire.usage import TokenCount

_REASONS = {"length": "length", "eos_token": "stop", "stop_sequence": "stop"}


class _Details(msgspec.Struct, gc=False):
    finish_reason: str = "stop"
    generated_tokens: TokenCount | None = None
    input_length: TokenCount | None = None


class _Whole(msgspec.Struct, gc=False):
    generated_text: str
    details: _Details | None = None


class _Token(msgspec.Struct, gc=False):
    text: str = ""
    special: bool = False


class _Event(msgspec.Struct, gc=False):
    token: _Token
    details: _Details | None = None


_whole = msgspec.json.Decoder(_Whole).decode
_whole_list = msgspec.json.Decoder(tuple[_Whole]).decode
_event = msgspec.json.Decoder(_Event).decode


class TgiTranslation(PromptTranslation):
    """One request of OpenAI's form for TGI's own API."""

    name = "tgi"

    def __init__(self, body: bytes, context: Context, *, model: str | None, chat: bool) -> None:
        super().__init__(body, context, model=model, chat=chat)
        self.target = b"/generate_stream" if self._request.stream else b"/generate"
        self.body = json({"inputs": self._prompt, "parameters": self._parameters()})
        self._finished = False

    def _parameters(self) -> dict[str, Any]:
        request = self._request
        if request.presence_penalty:
            raise Untranslatable("`presence_penalty` is not translated for this engine")
        greedy = request.temperature is not None and request.temperature <= 0
        given: dict[str, Any] = {
            "max_new_tokens": request.output_limit,
            "temperature": None if greedy else request.temperature,
            "top_p": request.top_p if request.top_p is not None and request.top_p < 1 else None,
            "top_k": request.top_k if request.top_k is not None and request.top_k > 0 else None,
            "seed": request.seed,
            "stop": request.stops or None,
            "repetition_penalty": request.repetition_penalty,
            "frequency_penalty": request.frequency_penalty or None,
        }
        if greedy:
            given["top_p"] = given["top_k"] = None  # any of them turns sampling on
        parameters = {name: value for name, value in given.items() if value is not None}
        return parameters | {"do_sample": not greedy, "details": True, "return_full_text": False}

    def answer(self, body: bytes, lines: Sequence[bytes] = ()) -> bytes | None:
        """The prompt's tokens are counted in a header, not in the body."""
        if is_error(body):
            return None
        try:
            whole = _whole_list(body)[0] if body[:1] == b"[" else _whole(body)
        except UNREADABLE:
            return None
        reason = self._note(whole.details) if whole.details is not None else "stop"
        self.usage.prompt_tokens = _prompt_tokens(lines)
        return self._answer.whole(whole.generated_text, reason, self.usage)

    def event(self, data: bytes) -> bytes:
        try:
            event = _event(data)
        except UNREADABLE:
            self.failure = data
            return b""
        token = event.token
        out = self._answer.chunk(token.text) if token.text and not token.special else b""
        if event.details is not None:
            out += self._answer.finish(self._note(event.details))
            self._finished = True
        return out

    def end(self) -> bytes:
        """Nothing for a stream that never told its end: it was cut."""
        return self._answer.done(self.usage) if self._finished else b""

    def _note(self, details: _Details) -> str:
        """Take the counts; the finish reason in OpenAI's terms."""
        self.usage.completion_tokens = details.generated_tokens
        if details.input_length is not None:
            self.usage.prompt_tokens = details.input_length
        return _REASONS.get(details.finish_reason, details.finish_reason)


def _prompt_tokens(lines: Sequence[bytes]) -> int | None:
    for line in lines:
        name, _, value = line.partition(b":")
        digits = value.strip()
        if name.lower() == b"x-prompt-tokens" and digits.isdigit() and len(digits) < 16:
            return int(digits)
    return None
