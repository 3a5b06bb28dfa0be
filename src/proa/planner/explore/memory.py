"""Sessions that replicas hold at several contexts, with as few engine starts as that takes."""

from collections.abc import Iterator
from math import floor

import msgspec

from proa.domain.llm import GroupedAttention, LatentAttention, LinearAttention, LlmSpec
from proa.errors import InputError
from proa.planner.fit.spec import FitPlan, FitSpec
from proa.planner.place.replica import MOST_SESSIONS, held_sessions

_LARGEST_BLOCK = 128
"""Contexts that are multiples of it fill whole blocks, of whatever size engines take."""

_POOLED = frozenset({"vllm", "sglang", "tensorrt-llm", "tgi"})
"""Engines that share one cache between sequences of any length."""

_GPU_MARGIN, _CACHE_MARGIN = 0.1, 0.2
"""More than `fit` keeps back of a GPU and of its cache before it says that a sequence fits."""

_ALIKE, _EXACT = 1e-4, 1e-9
"""Ratios of two contexts that differ by less are those of one way to lay out the cache, or are
the same but for the last bits."""


class HeldSessions:
    """`replica.held_sessions` of many starts at the same contexts, exactly.

    The shortest context is asked of `fit`. What does not hold it holds no longer one. The same
    cache holds other contexts in a ratio that is no matter of the GPU: shortest / context where
    every layer keeps every token; for models with windows or states, the ratio that a start of
    the same model, engine, layout and cache on another GPU showed, if the longest context, asked
    of `fit` too, agrees with it. Wherever rounding to blocks, or the margin that `fit` wants,
    could make it another whole number, `fit` is asked again.

    A start that the engine refuses (a flag out of its range) holds nothing.
    """

    def __init__(self, contexts: tuple[int, ...], margin: float) -> None:
        self._contexts = contexts
        self._margin = margin
        self._ratios: dict[tuple[object, ...], list[dict[int, float]]] = {}

    def of(self, start: FitSpec) -> list[int]:
        """The sessions at each context."""
        shortest = min(self._contexts)
        first, held = self._ask(start, shortest)
        if first is None or not held:
            return [0] * len(self._contexts)
        found = {shortest: held}
        if start.engine in _POOLED and _keeps_every_token(start.llm):
            whole = all(context % _LARGEST_BLOCK == 0 for context in self._contexts)
            doubt = _EXACT if whole else 2 * _LARGEST_BLOCK / shortest
            self._scale(start, first, found, ({c: shortest / c for c in self._contexts}, doubt))
        else:
            self._learn(start, first, found)
        return [found[context] for context in self._contexts]

    def _learn(self, start: FitSpec, first: FitPlan, found: dict[int, int]) -> None:
        """By the ratios of a start that was alike; else ask for all, and remember them."""
        longest = max(self._contexts)
        if longest not in found:
            last, found[longest] = self._ask(start, longest)
            known = self._ratios.setdefault(
                (start.llm, start.engine, start.kv_dtype, start.layout), []
            )
            seen = last.max_concurrency / first.max_concurrency if last else 0.0
            for ratios in known if start.engine in _POOLED else ():
                apart = abs(ratios[longest] - seen)
                if apart <= _ALIKE * seen:
                    doubt = _EXACT if apart <= _EXACT * seen else 3 * _ALIKE
                    return self._scale(start, first, found, (ratios, doubt))
            asked = {}
            for context in set(self._contexts):
                plan, found[context] = self._ask(start, context)
                asked[context] = plan.max_concurrency / first.max_concurrency if plan else 0.0
            known.append(asked)
        return None

    def _scale(
        self,
        start: FitSpec,
        first: FitPlan,
        found: dict[int, int],
        known: tuple[dict[int, float], float],
    ) -> None:
        """By (ratios, their doubt); what that leaves open is asked."""
        ratios, doubt = known
        for context in self._contexts:
            if context not in found:
                count = first.max_concurrency * ratios[context]
                left = count * (1 - self._margin)
                sure = _surely_fits(first, count) and _is_settled(left, left * doubt)
                most = min(floor(left), start.max_num_seqs or MOST_SESSIONS)
                found[context] = most if sure else self._ask(start, context)[1]

    def _ask(self, start: FitSpec, context: int) -> tuple[FitPlan | None, int]:
        try:
            asked = msgspec.structs.replace(start, max_model_len=context)
            return held_sessions(asked, self._margin)
        except InputError:
            return None, 0


def _is_settled(left: float, doubt: float) -> bool:
    """Whether `left`, give or take the doubt, has one whole number below it."""
    return doubt < 0.5 and abs(left - round(left)) > doubt + _EXACT


def _surely_fits(plan: FitPlan, count: float) -> bool:
    if count < 1:
        return False
    spare = plan.kv_cache_bytes * (1 - 1 / count - _CACHE_MARGIN)
    return spare >= plan.gpu_bytes * _GPU_MARGIN


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
