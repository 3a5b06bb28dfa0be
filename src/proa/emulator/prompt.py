"""A prompt in tokens: four bytes are one, whatever the text.

There is no tokenizer here. A chat is rendered as `<|role|>` and the content of each
message, then cut every four bytes of UTF-8; a list of token ids is counted exactly.
The emulator's own words are four bytes long, so what it generated counts the same
when a client sends it back.
"""

from hashlib import blake2b

import msgspec

BYTES_PER_TOKEN = 4
_HASH_BYTES = 8


class Part(msgspec.Struct):
    """A piece of a message's content; only text counts."""

    text: str = ""


class Message(msgspec.Struct):
    """One message of a chat."""

    role: str
    content: str | list[Part] | None = None


def rendered_chat(messages: list[Message]) -> bytes:
    """A chat as the bytes that are counted."""
    return "".join(f"<|{message.role}|>{_text(message)}" for message in messages).encode()


def rendered_prompt(prompt: str | list[int]) -> bytes:
    """The prompt of a completion as the bytes that are counted; ids take four bytes each."""
    if isinstance(prompt, str):
        return prompt.encode()
    return b"".join((token & 0xFFFFFFFF).to_bytes(BYTES_PER_TOKEN, "little") for token in prompt)


def count_tokens(rendered: bytes) -> int:
    """At least one: an engine sees a beginning even where there is no text."""
    return max(1, -(-len(rendered) // BYTES_PER_TOKEN))


def prefix_hashes(rendered: bytes, *, block_tokens: int, adapter: str = "") -> tuple[bytes, ...]:
    """A hash per full block that stands for everything up to the block's end.

    Another adapter gives other hashes, since it gives another KV cache.
    """
    size = block_tokens * BYTES_PER_TOKEN
    chain, hashes = adapter.encode(), []
    for start in range(0, len(rendered) - size + 1, size):
        chain = blake2b(chain + rendered[start : start + size], digest_size=_HASH_BYTES).digest()
        hashes.append(chain)
    return tuple(hashes)


def _text(message: Message) -> str:
    if isinstance(message.content, list):
        return "".join(part.text for part in message.content)
    return message.content or ""
