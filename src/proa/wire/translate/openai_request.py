"""Requests of OpenAI's API as engines that read one text can take them.

Fields that change what the answer is, and that no such engine knows, are refused;
fields that only annotate a request, and unknown ones, are left out.
"""

from typing import Any

import msgspec

from proa.domain.dialect import ChatTemplate
from proa.wire.translate.base import UNREADABLE, Untranslatable


class StreamOptions(msgspec.Struct, gc=False):
    include_usage: bool | None = None


class ResponseFormat(msgspec.Struct, gc=False):
    type: str = "text"


class TextRequest(msgspec.Struct, gc=False, kw_only=True):
    """Sampling and form, alike in both of OpenAI's text APIs; None is "not said"."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    n: int | None = None
    best_of: int | None = None
    logprobs: Any = None
    top_logprobs: int | None = None
    prompt_logprobs: int | None = None
    logit_bias: dict[str, float] | None = None
    response_format: ResponseFormat | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    functions: list[Any] | None = None
    audio: Any = None
    modalities: list[str] | None = None

    @property
    def output_limit(self) -> int | None:
        given = self.max_completion_tokens
        return given if given is not None else self.max_tokens

    @property
    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class Message(msgspec.Struct, gc=False):
    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[Any] | None = None


class ChatRequest(TextRequest, kw_only=True):
    messages: list[Message]


class CompletionRequest(TextRequest, kw_only=True):
    prompt: str | list[Any]
    suffix: str | None = None
    echo: bool | None = None


_chat = msgspec.json.Decoder(ChatRequest).decode
_completion = msgspec.json.Decoder(CompletionRequest).decode


def read_chat(body: bytes) -> ChatRequest:
    """The body of `/v1/chat/completions`.

    Raises:
        Untranslatable: no such request, or one that a text engine can't answer.
    """
    try:
        request = _chat(body)
    except UNREADABLE as error:
        raise Untranslatable(str(error)) from None
    _check(request)
    return request


def read_completion(body: bytes) -> CompletionRequest:
    """The body of `/v1/completions`; raises as `read_chat`."""
    try:
        request = _completion(body)
    except UNREADABLE as error:
        raise Untranslatable(str(error)) from None
    _check(request)
    if request.echo or request.suffix:
        raise Untranslatable("`echo` and `suffix` are not translated for this engine")
    return request


def _check(request: TextRequest) -> None:
    refused = {
        "n": request.n not in (None, 1),
        "best_of": request.best_of not in (None, 1),
        "logprobs": request.logprobs not in (None, False),
        "top_logprobs": bool(request.top_logprobs),
        "prompt_logprobs": request.prompt_logprobs is not None,
        "logit_bias": bool(request.logit_bias),
        "tools": bool(request.tools) and request.tool_choice != "none",
        "functions": bool(request.functions),
        "audio": request.audio is not None,
        "modalities": request.modalities not in (None, ["text"]),
        "response_format": request.response_format is not None
        and request.response_format.type != "text",
    }
    named = [f"`{name}`" for name, is_refused in refused.items() if is_refused]
    if named:
        verb = "is" if len(named) == 1 else "are"
        raise Untranslatable(f"{' and '.join(named)} {verb} not translated for this engine")


def chat_prompt(request: ChatRequest, template: ChatTemplate) -> str:
    """The messages as one text.

    Raises:
        Untranslatable: a message of a tool, or with a part that is no text.
    """
    forms = {
        "system": template.system,
        "developer": template.system,
        "user": template.user,
        "assistant": template.assistant,
    }
    parts = [template.begin]
    for index, message in enumerate(request.messages):
        form = forms.get(message.role)
        if form is None or message.tool_calls:
            what = "tool calls" if message.tool_calls else f"the role `{message.role}`"
            raise Untranslatable(f"messages[{index}]: {what} can't be put into a plain prompt")
        parts.append(form.replace("{content}", _text(index, message.content)))
    parts.append(template.generation)
    return "".join(parts)


def _text(index: int, content: str | list[dict[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    texts = []
    for part in content:
        kind, text = part.get("type"), part.get("text")
        if kind != "text" or not isinstance(text, str):
            raise Untranslatable(
                f"messages[{index}]: a part of type `{kind}` is not translated for this engine"
            )
        texts.append(text)
    return "".join(texts)


def completion_prompt(request: CompletionRequest) -> str:
    """The prompt; raises `Untranslatable` for token ids and for several prompts."""
    prompt = request.prompt
    if isinstance(prompt, list):
        if len(prompt) != 1 or not isinstance(prompt[0], str):
            raise Untranslatable("`prompt` must be one text for this engine")
        return prompt[0]
    return prompt
