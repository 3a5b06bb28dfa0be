"""A request of Anthropic's `/v1/messages` as one for `/v1/chat/completions`.

Source: Anthropic's API reference and the types of its client 2.14. Left out: cache_control,
thinking blocks of earlier turns, `thinking` that is up to the model, effort, service_tier,
unknown fields. Refused: documents, enforced thinking, tools that run on Anthropic's servers,
containers and MCP servers.
"""

from typing import Any

import msgspec

from proa.wire.translate.base import UNREADABLE, Untranslatable, json
from proa.wire.translate.messages_blocks import (
    Block,
    assistant_message,
    joined_texts,
    user_messages,
)

_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_REFUSED = ("container", "mcp_servers", "context_management")


class _Message(msgspec.Struct, gc=False):
    role: str
    content: str | list[Block]


class _Tool(msgspec.Struct, gc=False):
    name: str
    type: str | None = None
    description: str | None = None
    input_schema: msgspec.Raw = msgspec.Raw(b'{"type":"object"}')
    strict: bool | None = None


class _ToolChoice(msgspec.Struct, gc=False):
    type: str
    name: str | None = None
    disable_parallel_tool_use: bool = False


class MessagesRequest(msgspec.Struct, gc=False, kw_only=True):
    messages: list[_Message]
    max_tokens: int | None = None
    model: str | None = None
    system: str | list[Block] | None = None
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    tools: list[_Tool] | None = None
    tool_choice: _ToolChoice | None = None
    metadata: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    container: Any = None
    mcp_servers: Any = None
    context_management: Any = None
    output_format: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None

    @property
    def answer_format(self) -> dict[str, Any] | None:
        """The form that the answer must have, under its present or its earlier name."""
        return (self.output_config or {}).get("format") or self.output_format


_decode = msgspec.json.Decoder(MessagesRequest).decode


def read_messages(body: bytes) -> MessagesRequest:
    """The body of `/v1/messages`.

    Raises:
        Untranslatable: no such request, or one with fields that have no translation.
    """
    try:
        request = _decode(body)
    except UNREADABLE as error:
        raise Untranslatable(str(error)) from None
    for name in _REFUSED:
        if getattr(request, name):
            raise Untranslatable(f"`{name}` is not translated for this engine")
    if request.thinking is not None and request.thinking.get("type") == "enabled":
        raise Untranslatable("`thinking` is not translated for this engine")
    return request


def chat_request(request: MessagesRequest) -> bytes:
    """The body for `/v1/chat/completions`; a stream asks for its usage.

    Raises:
        Untranslatable: a block or a tool that has no translation.
    """
    out: dict[str, Any] = {"model": request.model, "messages": _messages(request)}
    out |= {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "stop": request.stop_sequences or None,
        "user": (request.metadata or {}).get("user_id"),
        "response_format": _answer_format(request.answer_format),
    }
    if request.stream:
        out |= {"stream": True, "stream_options": {"include_usage": True}}
    if request.tools:
        out["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice is not None and request.tools:
        out["tool_choice"] = _tool_choice(request.tool_choice)
        if request.tool_choice.disable_parallel_tool_use:
            out["parallel_tool_calls"] = False
    return json({name: value for name, value in out.items() if value is not None})


def _messages(request: MessagesRequest) -> list[Block]:
    out: list[Block] = []
    system = request.system
    if system:
        text = system if isinstance(system, str) else joined_texts("system", system)
        out.append({"role": "system", "content": text})
    for index, message in enumerate(request.messages):
        place, content = f"messages[{index}]", message.content
        if message.role not in ("user", "assistant", "system"):
            raise Untranslatable(f"{place}: the role `{message.role}` is not one of this API")
        if isinstance(content, str):
            out.append({"role": message.role, "content": content})
        elif message.role == "system":
            out.append({"role": "system", "content": joined_texts(place, content)})
        elif message.role == "user":
            out += user_messages(place, content)
        else:
            out.append(assistant_message(place, content))
    return out


def _answer_format(asked: object) -> Block | None:
    if not asked:
        return None
    if not isinstance(asked, dict) or asked.get("type") != "json_schema":
        raise Untranslatable("output_config: a format other than `json_schema` is not translated")
    schema = {"name": "answer", "schema": asked.get("schema"), "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def _tool(tool: _Tool) -> Block:
    if tool.type not in (None, "custom"):
        raise Untranslatable(f"tools: `{tool.type}` runs on Anthropic's servers only")
    function: Block = {"name": tool.name, "parameters": tool.input_schema}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _tool_choice(choice: _ToolChoice) -> object:
    if choice.type == "tool":
        return {"type": "function", "function": {"name": choice.name}}
    if choice.type not in _CHOICES:
        raise Untranslatable(f"tool_choice: the type `{choice.type}` is not one of this API")
    return _CHOICES[choice.type]
