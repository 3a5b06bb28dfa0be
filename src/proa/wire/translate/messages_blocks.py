"""The content blocks of Anthropic's messages in OpenAI's terms."""

from typing import Any

from proa.wire.translate.base import Untranslatable, json

Block = dict[str, Any]
_LEFT_OUT = frozenset(("thinking", "redacted_thinking"))


def user_messages(place: str, blocks: list[Block]) -> list[Block]:
    """Results of tools become messages of their own, before the rest.

    Raises:
        Untranslatable: a block that is not known; `place` is where it stands.
    """
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


def assistant_message(place: str, blocks: list[Block]) -> Block:
    """The one message; raises `Untranslatable` for a block that is not known."""
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
    text = content if isinstance(content, str) else joined_texts(f"{place}: tool_result", content)
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


def joined_texts(place: str, blocks: list[Any]) -> str:
    """Text blocks as one text; raises `Untranslatable` for others."""
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
