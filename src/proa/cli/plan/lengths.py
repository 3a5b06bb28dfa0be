"""How long requests are: from the parts, from input and output, or from the context alone."""

import msgspec

from proa.cli.plan.asked import ModelAsked, PlanAsked
from proa.cli.plan.texts import both
from proa.errors import FieldError
from proa.planner.assumptions import Assumption
from proa.planner.demand.context import ContextPart, ContextSpec, context

OUTPUT_TOKENS = 500
CONTEXT_TOKENS = 8192
_PARTS = (
    "system_tokens",
    "question_tokens",
    "history_turns",
    "tokens_per_turn",
    "rag_chunks",
    "tokens_per_chunk",
)


class Lengths(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one request; `context_tokens` is the longest, at least input + output."""

    input_tokens: int
    output_tokens: int
    context_tokens: int
    parts: tuple[ContextPart, ...] = ()
    assumptions: tuple[Assumption, ...] = ()

    @property
    def longest_input(self) -> int:
        """The input where a request takes the whole context."""
        return self.context_tokens - self.output_tokens


def lengths_of(asked: PlanAsked | ModelAsked) -> Lengths:
    """What was said, completed; what had to be assumed is listed.

    Raises:
        FieldError: the parts, input, output and context contradict each other.
    """
    if isinstance(asked, PlanAsked) and any(getattr(asked, part) for part in _PARTS):
        return _of_parts(asked)
    assumed: list[Assumption] = []
    output = asked.output_tokens
    if output is None:
        room = (asked.context or CONTEXT_TOKENS + OUTPUT_TOKENS) - (asked.input_tokens or 0)
        output = max(1, min(OUTPUT_TOKENS, room - (0 if asked.input_tokens else 1)))
        assumed.append(_assumed("output_tokens", output))
    inputs = asked.input_tokens
    if inputs is None:
        whole = asked.context
        if whole is None:
            whole = CONTEXT_TOKENS
            assumed.append(_assumed("context", whole))
        inputs = whole - output
    return _checked(asked, inputs, output, tuple(assumed))


def _of_parts(asked: PlanAsked) -> Lengths:
    if asked.input_tokens is not None:
        accepted = "either input_tokens or the parts of the context, not both"
        raise FieldError("input_tokens", asked.input_tokens, accepted)
    assumed = [] if asked.output_tokens else [_assumed("output_tokens", OUTPUT_TOKENS)]
    given = {part: getattr(asked, part) or 0 for part in _PARTS}
    plan = context(ContextSpec(output_tokens=asked.output_tokens or OUTPUT_TOKENS, **given))
    checked = _checked(asked, plan.input_tokens, plan.output_tokens, tuple(assumed))
    return msgspec.structs.replace(checked, parts=plan.parts)


def _checked(
    asked: PlanAsked | ModelAsked, inputs: int, output: int, assumed: tuple[Assumption, ...]
) -> Lengths:
    least = max(inputs, 1) + output
    if asked.context is not None and asked.context < least:
        accepted = (
            f"at least {least:,} tokens: {max(inputs, 1):,} of input and {output:,} of output"
        )
        raise FieldError("context", asked.context, accepted)
    return Lengths(
        input_tokens=inputs,
        output_tokens=output,
        context_tokens=asked.context or inputs + output,
        assumptions=assumed,
    )


def _assumed(field: str, value: int) -> Assumption:
    text = both(f"assumed_{field}").fill(value=f"{value:,}")
    return Assumption(field=field, value=value, text=text)
