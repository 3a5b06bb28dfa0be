"""OpenAI's text APIs for Triton's generate extension.

Sources: Triton's extension_generate.md (fields that are no input of the model go as its
parameters); recorded replies of Triton 2.51. A stream is one flat JSON object an event and
ends without a mark. The outputs `finish_reason`, `num_input_tokens` and `num_output_tokens`
are those of the vLLM backend.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from proa.wire.translate.base import UNREADABLE, Context, Untranslatable, is_error, json
from proa.wire.translate.openai_prompt import PromptTranslation, count

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_REASONS = frozenset(("stop", "length"))


class TritonTranslation(PromptTranslation):
    """One request of OpenAI's form for `/v2/models/NAME/generate[_stream]`."""

    name = "triton"

    def __init__(self, body: bytes, context: Context, *, model: str | None, chat: bool) -> None:
        super().__init__(body, context, model=model, chat=chat)
        name = self._request.model or model
        if not name:
            raise Untranslatable("`model` is needed: Triton has the model's name in the path")
        verb = "generate_stream" if self._request.stream else "generate"
        self.target = f"/v2/models/{quote(name, safe='')}/{verb}".encode()
        self._fields = context.triton
        self.body = json(self._inputs())
        self._reason = "stop"

    def _inputs(self) -> dict[str, Any]:
        request, fields = self._request, self._fields
        inputs: dict[str, Any] = dict(fields.extra)
        inputs[fields.text_input] = self._prompt
        if fields.stream:
            inputs[fields.stream] = bool(request.stream)
        for asked, name, value in (
            ("max_tokens", fields.max_tokens, request.output_limit),
            ("temperature", fields.temperature, request.temperature),
            ("top_p", fields.top_p, request.top_p),
            ("top_k", fields.top_k, request.top_k),
            ("seed", fields.seed, request.seed),
            ("stop", fields.stop, request.stops or None),
            ("repetition_penalty", fields.repetition_penalty, request.repetition_penalty),
            ("presence_penalty", fields.presence_penalty, request.presence_penalty or None),
            ("frequency_penalty", fields.frequency_penalty, request.frequency_penalty or None),
        ):
            if value is None:
                continue
            if not name:
                raise Untranslatable(f"`{asked}`: this engine's model has no such input")
            inputs[name] = value
        return inputs

    def answer(self, body: bytes, lines: Sequence[bytes] = ()) -> bytes | None:
        del lines
        text = None if is_error(body) else self._read(body)
        return None if text is None else self._answer.whole(text, self._reason, self.usage)

    def event(self, data: bytes) -> bytes:
        text = self._read(data)
        if text is None:
            self.failure = data
        return self._answer.chunk(text) if text else b""

    def end(self) -> bytes:
        return self._answer.finish(self._reason) + self._answer.done(self.usage)

    def _read(self, data: bytes) -> str | None:
        """The text of one response; None where it has none."""
        try:
            outputs = _decode(data)
        except UNREADABLE:
            return None
        if len(outputs) > 3:
            self._note(outputs)
        text = outputs.get(self._fields.text_output)
        if isinstance(text, list):
            text = "".join(map(str, text))
        return text if isinstance(text, str) else None

    def _note(self, outputs: dict[str, Any]) -> None:
        usage, made = self.usage, count(outputs.get("num_output_tokens"))
        if made is not None:  # of this response: a stream's are summed
            usage.completion_tokens = made + (usage.completion_tokens or 0)
        read = count(outputs.get("num_input_tokens"))
        if read is not None:
            usage.prompt_tokens = read
        if outputs.get("finish_reason") in _REASONS:
            self._reason = outputs["finish_reason"]
