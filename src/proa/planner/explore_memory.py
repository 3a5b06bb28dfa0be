"""Sessions that a replica holds at several contexts, with as few engine starts as that takes."""

from collections.abc import Iterator, Sequence
from math import floor

import msgspec

from proa.domain.llm import GroupedAttention, LatentAttention, LinearAttention, LlmSpec
from proa.errors import InputError
from proa.planner.fit_spec import FitPlan, FitSpec
from proa.planner.replica import MOST_SESSIONS, held_sessions

_LARGEST_BLOCK = 128
"""Contexts that are multiples of it fill whole blocks, of whatever size engines take."""

_POOLED = frozenset({"vllm", "sglang", "tensorrt-llm", "tgi"})
"""Engines that share one cache between sequences of any length."""


def memory_sessions(start: FitSpec, contexts: Sequence[int], margin: float = 0.0) -> list[int]:
    """`replica.held_sessions` at each context in tokens, exactly.

    The shortest context is asked of `fit`. What does not hold it holds no longer one. Where
    every layer keeps every token, the same cache holds tokens / context sequences of another
    context, but for blocks that are not full: a count that these could move over a whole number,
    and every count of models with windows or states, is asked of `fit` again.

    A start that the engine refuses (a flag out of its range) holds nothing.
    """
    shortest = min(contexts)
    first, held = _held(start, shortest, margin)
    if first is None or not held:
        return [0] * len(contexts)
    keeps_all = start.engine in _POOLED and _keeps_every_token(start.llm)
    return [
        held if context == shortest else _scaled(first, start, context, margin, keeps_all=keeps_all)
        for context in contexts
    ]


def _scaled(first: FitPlan, start: FitSpec, context: int, margin: float, *, keeps_all: bool) -> int:
    count = first.max_concurrency * first.max_model_len / context * (1 - margin)
    fills_blocks = context % _LARGEST_BLOCK == 0 and first.max_model_len % _LARGEST_BLOCK == 0
    doubt = count * (1e-9 if fills_blocks else 2 * _LARGEST_BLOCK / first.max_model_len) + 1e-9
    if not keeps_all or abs(count - round(count)) <= doubt or doubt >= 0.5:
        return _held(start, context, margin)[1]
    return min(floor(count), start.max_num_seqs or MOST_SESSIONS)


def _held(start: FitSpec, context: int, margin: float) -> tuple[FitPlan | None, int]:
    try:
        return held_sessions(msgspec.structs.replace(start, max_model_len=context), margin)
    except InputError:
        return None, 0


def _keeps_every_token(llm: LlmSpec) -> bool:
    return all(_keeps(llm))


def _keeps(llm: LlmSpec) -> Iterator[bool]:
    for group in llm.layers:
        match group.attention:
            case GroupedAttention(window=window):
                yield window is None
            case LatentAttention(window=window, compress_ratio=ratio):
                yield window is None and ratio == 1
            case LinearAttention():
                yield False
