"""The text of a prompt, pulled out of the JSON value that carries it.

Reads `messages`, `prompt`, `input` and `system` of OpenAI, Anthropic and Ollama
bodies: a string, a list of strings, token ids, or messages with parts.
"""

from typing import TypeAlias

import msgspec

RAW_LIMIT_BYTES = 65_536  # above it slices of the raw JSON stand for the whole
_SLICES = 64  # many and small: prompts mix languages by the paragraph
_SLICE_BYTES = 512


class PromptText(msgspec.Struct, frozen=True, gc=False):
    """What a model would read, in UTF-8, as far as it is text.

    `messages` counts messages, for the chat template's part; `token_ids` those that
    came as numbers. `scale` is the size of the whole over that of `text`.
    """

    text: bytes
    messages: int = 1
    token_ids: int = 0
    scale: float = 1.0


class _Node(msgspec.Struct, gc=False):
    """A message, a part or a tool call: every field that may hold text, others ignored."""

    content: "_Content | None" = None
    text: str | None = None
    tool_calls: "list[_Node] | None" = None
    function: "_Node | None" = None
    arguments: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()


_Content: TypeAlias = str | list[str | int | list[int] | _Node]
_DECODER: msgspec.json.Decoder[_Content] = msgspec.json.Decoder(_Content)


def message_text(value: bytes | msgspec.Raw, *verbatim: bytes | msgspec.Raw) -> PromptText:
    """The text of a JSON `value`; images and audio are left out.

    `verbatim` are JSON values that templates print as they are, such as `tools`.
    A value of a form that is not known counts as it is written, so that no request
    looks empty. The cost is bounded: of more than `RAW_LIMIT_BYTES`, slices are read.
    """
    raw, rest = memoryview(value), [memoryview(other) for other in verbatim]
    if len(raw) + sum(map(len, rest)) > RAW_LIMIT_BYTES:
        return _sampled(max(raw, *rest, key=len) if rest else raw, len(raw) + sum(map(len, rest)))
    pieces: list[str | bytes] = []
    try:
        content = _DECODER.decode(raw)
        ids = _collect(content, pieces)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return PromptText(b"\n".join([raw, *rest]))
    messages = 1
    if isinstance(content, list):
        messages = max(1, sum(1 for item in content if isinstance(item, _Node)))
    texts = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    return PromptText(b"\n".join([*texts, *rest]), messages, ids)


def _collect(content: _Content | None, pieces: list[str | bytes]) -> int:
    """Append all text below `content`; the number of token ids."""
    ids = 0
    if isinstance(content, str):
        pieces.append(content)
    elif content is not None:
        for item in content:
            if isinstance(item, str):
                pieces.append(item)
            elif isinstance(item, int):
                ids += 1
            elif isinstance(item, list):
                ids += len(item)
            else:
                ids += _collect_node(item, pieces)
    return ids


def _collect_node(node: _Node, pieces: list[str | bytes]) -> int:
    if node.text is not None:
        pieces.append(node.text)
    pieces.extend(bytes(raw) for raw in (node.arguments, node.input) if bytes(raw))
    ids = _collect(node.content, pieces)
    for call in node.tool_calls or ():
        ids += _collect_node(call, pieces)
    if node.function is not None:
        ids += _collect_node(node.function, pieces)
    return ids


def _sampled(raw: memoryview, whole_bytes: int) -> PromptText:
    step = (len(raw) - _SLICE_BYTES) // (_SLICES - 1)
    slices = [bytes(raw[i * step : i * step + _SLICE_BYTES]) for i in range(_SLICES)]
    text = b"".join([_unescaped(piece) for piece in slices if not _is_base64(piece)])
    return PromptText(text, scale=whole_bytes / (_SLICES * _SLICE_BYTES))


def _is_base64(piece: bytes) -> bool:
    """Whether a slice is the inside of an image or of audio: ASCII without a space or escape."""
    return piece.isascii() and b" " not in piece and b"\\" not in piece


def _unescaped(piece: bytes) -> bytes:
    r"""JSON escapes undone, `\uXXXX` only where the whole text is written with them."""
    if b"\\" not in piece:
        return piece
    if b"\\u" in piece and piece.isascii():
        units = piece.replace(b"\\/", b"/").decode("unicode_escape", "ignore")
        return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore").encode()
    return piece.replace(b"\\n", b"\n").replace(b'\\"', b'"').replace(b"\\\\", b"\\")
