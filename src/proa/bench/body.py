"""A request's body: the prompt in the target's API, and how its length is forced."""

from hashlib import blake2b
from typing import Any

import msgspec

from proa.bench.target import TargetSpec
from proa.bench.workloads import Prompt, texts_of


class BodySpec(msgspec.Struct, frozen=True):
    """What besides the prompt goes into every body of a target.

    `force` says whether `ignore_eos` and `min_tokens` are sent, `usage` whether the stream's
    usage is asked for: engines that refuse them were found out by a probe.
    """

    force: bool = True
    usage: bool = True
    stream: bool = True


def body_of(target: TargetSpec, prompt: Prompt, spec: BodySpec) -> bytes:
    """The body as JSON; `extra` of the target goes last and may replace a field."""
    fields: dict[str, Any] = {"model": target.model}
    if target.is_chat:
        fields["messages"] = prompt.messages
    else:
        fields["prompt"] = texts_of(prompt.messages)
    fields["max_tokens"] = prompt.output_tokens
    if spec.stream:
        fields["stream"] = True
        if spec.usage:
            fields["stream_options"] = {"include_usage": True}
    if spec.force:
        fields |= {"ignore_eos": True, "min_tokens": prompt.output_tokens}
    return msgspec.json.encode(fields | target.extra)


def prompt_hash(body: bytes) -> str:
    """Sixteen hex digits that tell one body from another."""
    return blake2b(body, digest_size=8).hexdigest()
