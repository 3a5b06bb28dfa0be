"""Token counts that an engine reports, found by byte search in the end of an answer."""

import re
from typing import Annotated

import msgspec

_PROMPT = re.compile(
    rb'"(?:prompt_tokens|input_tokens|prompt_eval_count)"[ ]*:[ ]*(\d{1,15}+)(?!\d)'
)
_COMPLETION = re.compile(
    rb'"(?:completion_tokens|output_tokens|eval_count)"[ ]*:[ ]*(\d{1,15}+)(?!\d)'
)
_TAIL_BYTES = 4096

TokenCount = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]  # what is no such number is none


class Usage(msgspec.Struct, gc=False):
    """Prompt and completion tokens; None where the engine did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def note(self, data: bytes) -> None:
        """Take the numbers in `data`; the last one that is not null wins."""
        for found in _PROMPT.finditer(data):
            self.prompt_tokens = int(found.group(1))
        for found in _COMPLETION.finditer(data):
            self.completion_tokens = int(found.group(1))


def has_usage(data: bytes) -> bool:
    """Cheap test before `Usage.note`: `"usage":null` is not usage."""
    return b'"usage":{' in data or b'"usage": {' in data or b'_eval_count"' in data


def note_answer(usage: Usage, tail: bytes) -> None:
    """Read the usage near the end of a whole JSON answer."""
    at = tail.rfind(b'"usage":{', -_TAIL_BYTES)
    if at >= 0:
        try:
            counts = _counts(tail[at + 8 : tail.find(b"}", at) + 1])
        except msgspec.MsgspecError:  # objects inside, or names of another API
            usage.note(tail[at:])
        else:
            usage.prompt_tokens = counts.prompt_tokens
            usage.completion_tokens = counts.completion_tokens
        return
    at = max(tail.rfind(b'"usage"', -_TAIL_BYTES), tail.rfind(b'"prompt_eval_count"', -_TAIL_BYTES))
    if at >= 0:
        usage.note(tail[at:])


class _Counts(msgspec.Struct, gc=False):
    """A usage object of OpenAI's API; both fields are demanded."""

    prompt_tokens: TokenCount
    completion_tokens: TokenCount | None = None


_counts = msgspec.json.Decoder(_Counts).decode
