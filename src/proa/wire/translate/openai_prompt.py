"""What the pairs of OpenAI's API with engines that read one text have in common."""

from typing import Any

from proa.wire.translate.base import Context, EventTranslation
from proa.wire.translate.openai_answer import OpenAiAnswer
from proa.wire.translate.openai_request import (
    TextRequest,
    chat_prompt,
    completion_prompt,
    read_chat,
    read_completion,
)


class PromptTranslation(EventTranslation):
    """`/v1/chat/completions` or, without `chat`, `/v1/completions` for such an engine.

    Raises:
        Untranslatable: the request asks for what has no translation.
    """

    def __init__(self, body: bytes, context: Context, *, model: str | None, chat: bool) -> None:
        super().__init__()
        request: TextRequest
        if chat:
            request = chat_request = read_chat(body)
            self._prompt = chat_prompt(chat_request, context.template)
        else:
            request = completion_request = read_completion(body)
            self._prompt = completion_prompt(completion_request)
        self._request = request
        self._answer = OpenAiAnswer(
            context, request.model or model or "", chat=chat, usage_asked=request.wants_usage
        )


def count(value: Any) -> int | None:
    """A token count in an engine's answer: a number, or a list of one."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15
    return value if is_count else None
