"""A request of Anthropic's `/v1/messages` as one for `/v1/chat/completions`.

Source: Anthropic's API reference, 2023-06-01. Left out: cache_control, thinking blocks of
earlier turns, service_tier, unknown fields. Refused: documents, thinking, tools that run on
Anthropic's servers, containers and MCP servers.
"""

from typing import Any

import msgspec

from proa.wire.translate.base import UNREADABLE, Untranslatable, json

Block = dict[str, Any]
_LEFT_OUT = frozenset(("thinking", "redacted_thinking"))
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_REFUSED = ("container", "mcp_servers", "context_management", "output_format")


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
    output_format: Any = None


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
    if request.thinking is not None and request.thinking.get("type") != "disabled":
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
        text = system if isinstance(system, str) else _texts("system", system)
        out.append({"role": "system", "content": text})
    for index, message in enumerate(request.messages):
        place, content = f"messages[{index}]", message.content
        if message.role not in ("user", "assistant"):
            raise Untranslatable(f"{place}: the role `{message.role}` is not one of this API")
        if isinstance(content, str):
            out.append({"role": message.role, "content": content})
        elif message.role == "user":
            out += _user(place, content)
        else:
            out.append(_assistant(place, content))
    return out


def _user(place: str, blocks: list[Block]) -> list[Block]:
    """Results of tools become messages of their own, before the rest."""
    results: list[Block] = []
    parts: list[Block] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "tool_result":
            results.append(_tool_result(place, block))
        elif kind == "text":
            parts.append({"type": "text", "text": _text(place, block)})
        elif kind == "image":
            parts.append({"type": "image_url", "image_url": {"url": _image_url(place, block)}})
        else:
            raise _unknown(place, kind)
    if not parts and results:
        return results
    if all(part["type"] == "text" for part in parts):
        return [*results, {"role": "user", "content": "\n".join(p["text"] for p in parts)}]
    return [*results, {"role": "user", "content": parts}]


def _assistant(place: str, blocks: list[Block]) -> Block:
    texts, calls = [], []
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            texts.append(_text(place, block))
        elif kind == "tool_use":
            arguments = json(block.get("input") or {}).decode()
            function = {"name": block.get("name"), "arguments": arguments}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
        elif kind not in _LEFT_OUT:
            raise _unknown(place, kind)
    message: Block = {"role": "assistant", "content": "".join(texts)}
    if calls:
        message |= {"content": message["content"] or None, "tool_calls": calls}
    return message


def _tool_result(place: str, block: Block) -> Block:
    content = block.get("content") or ""
    text = content if isinstance(content, str) else _texts(f"{place}: tool_result", content)
    if block.get("is_error") and not text:
        text = "error"
    return {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text}


def _image_url(place: str, block: Block) -> str:
    source = block.get("source")
    if isinstance(source, dict):
        if source.get("type") == "base64" and isinstance(source.get("data"), str):
            return f"data:{source.get('media_type', 'image/png')};base64,{source['data']}"
        if source.get("type") == "url" and isinstance(source.get("url"), str):
            return str(source["url"])
    raise Untranslatable(f"{place}: an image needs a source of type base64 or url")


def _texts(place: str, blocks: list[Any]) -> str:
    texts = []
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind != "text":
            raise _unknown(place, kind)
        texts.append(_text(place, block))
    return "\n".join(texts)


def _text(place: str, block: Block) -> str:
    text = block.get("text")
    if not isinstance(text, str):
        raise Untranslatable(f"{place}: a text block needs a text")
    return text


def _unknown(place: str, kind: object) -> Untranslatable:
    return Untranslatable(f"{place}: a block of type `{kind}` is not translated for this engine")


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
