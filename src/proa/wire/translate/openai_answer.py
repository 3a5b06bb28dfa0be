"""Answers of OpenAI's two text APIs, whole and as events, made from plain pieces of text."""

from proa.wire.translate.base import Context, json
from proa.wire.usage import Usage

_DONE = b"data: [DONE]\n\n"


class OpenAiAnswer:
    """Writes the answer to one request.

    What is alike in every chunk is made once; a chunk costs one encoding of its text.
    """

    def __init__(self, context: Context, model: str, *, chat: bool, usage_asked: bool) -> None:
        self._chat = chat
        self._usage_asked = usage_asked
        self._id = ("chatcmpl-" if chat else "cmpl-") + context.answer_id
        self._created_s = context.created_s
        self._model = model
        head = json(self._head(".chunk" if chat else ""))[:-1]
        lead = b'"delta":{"content":' if chat else b'"text":'
        tail = b"}" if chat else b""
        null_usage = b',"usage":null' if usage_asked else b""
        self._chunk_start = b'data: %b,"choices":[{"index":0,%b' % (head, lead)
        self._chunk_end = b'%b,"logprobs":null,"finish_reason":null}]%b}\n\n' % (tail, null_usage)
        self._bare = b"data: " + head
        self._null_usage = null_usage
        self._begun = not chat

    def _head(self, suffix: str) -> dict[str, object]:
        kind = ("chat.completion" if self._chat else "text_completion") + suffix
        return {
            "id": self._id, "object": kind, "created": self._created_s, "model": self._model,
        }  # fmt: skip

    def chunk(self, text: str) -> bytes:
        """An event with a piece of text; before a chat's first one, the event with the role."""
        event = self._chunk_start + json(text) + self._chunk_end
        return event if self._begun else self._begin() + event

    def _begin(self) -> bytes:
        self._begun = True
        return (
            b'%b,"choices":[{"index":0,"delta":{"role":"assistant","content":""},'
            b'"logprobs":null,"finish_reason":null}]%b}\n\n' % (self._bare, self._null_usage)
        )

    def finish(self, reason: str) -> bytes:
        """The event with the finish reason."""
        lead = b'"delta":{}' if self._chat else b'"text":""'
        event = b'%b,"choices":[{"index":0,%b,"logprobs":null,"finish_reason":%b}]%b}\n\n' % (
            self._bare, lead, json(reason), self._null_usage,
        )  # fmt: skip
        return event if self._begun else self._begin() + event

    def done(self, usage: Usage) -> bytes:
        """The end of the stream, with the usage where it was asked for and is known."""
        counts = usage_json(usage) if self._usage_asked else None
        if counts is None:
            return _DONE
        return b'%b,"choices":[],"usage":%b}\n\n%b' % (self._bare, json(counts), _DONE)

    def whole(self, text: str, reason: str, usage: Usage) -> bytes:
        """The answer in one piece; `usage` stands in it where the engine counted."""
        choice: dict[str, object] = {"index": 0}
        if self._chat:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        choice |= {"logprobs": None, "finish_reason": reason}
        answer = self._head("") | {"choices": [choice]}
        counts = usage_json(usage)
        return json(answer if counts is None else answer | {"usage": counts})


def usage_json(usage: Usage) -> dict[str, int] | None:
    """OpenAI's usage object, None where one of the two counts is not known."""
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if prompt is None or completion is None:
        return None
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
