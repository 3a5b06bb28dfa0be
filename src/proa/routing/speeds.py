"""Timings of engines as policies read them: plain numbers, with what is typical for the unknown."""

from collections.abc import Sequence
from math import exp, inf, log
from typing import NamedTuple

from proa.domain.load import EngineLoadView
from proa.domain.timing import EngineTiming, StepTime
from proa.routing.alike import drawn_together

ASSUMED = StepTime(base_s=0.010, per_sequence_s=0.0005)
"""An engine of which nothing is known; the ratio of the two is typical of GPUs."""
DEFAULT_OUTPUT_TOKENS = 256.0
DEFAULT_BYTES_PER_TOKEN = 4.0
HALF_LIFE_S = 60.0
UNSEEN_S = 30.0
PROMPT_WEIGHT = 8.0
"""Time before the first token stands for the streams and prompts that wait meanwhile, too."""
_LEAST_BASE_S = 1e-6
"""No engine makes a step in less; a ratio to less says nothing."""
_HARDLY_AGED = 0.98
_BASE_SCATTER = 0.06
_SLOPE_SCATTER = 0.3
_PROMPT_SCATTER = 0.4
"""So much differs, at most, what is learned of two equal engines; logarithms of ratios."""
_LEAST_SLOPE = 0.002  # of the base: more requests are never for nothing, and ties are broken


class Speed(NamedTuple):
    """step = base_s + per_sequence_s x sequences, for at most `capacity` sequences at once.

    The time of the KV tokens that a sequence holds is in `per_sequence_s`. `prompt_s_per_byte` is
    0 where nothing tells it.
    """

    base_s: float
    per_sequence_s: float
    prompt_s_per_byte: float
    capacity: float


class Outlook(NamedTuple):
    """An engine's speed as our next request meets it: with that and others' requests counted in.

    step_s = base_s + per_sequence_s x own requests in flight, of which `room` may run beside the
    next one. `prompt_s_per_byte` is weighted by `PROMPT_WEIGHT`.
    """

    base_s: float
    per_sequence_s: float
    prompt_s_per_byte: float
    room: float


def outlook(speed: Speed, foreign: int) -> Outlook:
    """What `speed` means for the next request, beside `foreign` ones."""
    others = foreign + 1
    return Outlook(
        speed.base_s + speed.per_sequence_s * others,
        speed.per_sequence_s,
        PROMPT_WEIGHT * speed.prompt_s_per_byte,
        speed.capacity - others,
    )


NOBODY_KNOWS = Speed(ASSUMED.base_s, ASSUMED.per_sequence_s, 0.0, inf)


def speeds_of(views: Sequence[EngineLoadView]) -> list[Speed]:
    """One for each engine; where nothing is known of one, the geometric mean of the others.

    What was learned decays to what was said of the engine before, or else to that mean:
    half of it, on a scale of ratios, for each 60 s without traffic. An engine whose prompts
    nothing tells is taken to read them as quickly for its base as the others for theirs.
    Engines that learning cannot tell apart are drawn together.
    """
    known = [view.timing for view in views if view.timing is not None]
    typical = StepTime(
        base_s=_typical([timing.step.base_s for timing in known], ASSUMED.base_s),
        per_sequence_s=_typical(
            [timing.step.per_sequence_s for timing in known], ASSUMED.per_sequence_s
        ),
    )
    prompts = [(_prompt_s_per_byte(timing) or 0.0) / timing.step.base_s
               for timing in known if timing.step.base_s >= _LEAST_BASE_S]  # fmt: skip
    typical_prompt = _typical(prompts, 0.0)
    return _alike([_speed(view, typical, typical_prompt) for view in views])


def mean_output(views: Sequence[EngineLoadView]) -> float:
    """Mean tokens of an answer over all engines, by how much each was seen."""
    known = [
        (timing.output_tokens, timing.samples)
        for timing in (view.timing for view in views)
        if timing is not None and timing.output_tokens
    ]
    samples = sum(count for _, count in known)
    if not samples:
        return DEFAULT_OUTPUT_TOKENS
    return sum(tokens * count for tokens, count in known) / samples


def _speed(view: EngineLoadView, typical: StepTime, typical_prompt: float) -> Speed:
    timing = view.timing
    step = typical if timing is None else _decayed(timing, timing.prior or typical)
    per_sequence_s = max(step.per_sequence_s, _LEAST_SLOPE * step.base_s)
    held = 0.0 if timing is None else timing.kv_tokens_per_sequence
    prompt = None if timing is None else _prompt_s_per_byte(timing)
    return Speed(
        step.base_s,
        per_sequence_s + step.per_kv_token_s * held,
        typical_prompt * step.base_s if prompt is None else prompt,
        float(view.max_concurrent or inf),
    )


def _alike(speeds: list[Speed]) -> list[Speed]:
    """Without the differences that are no more than what learning leaves open."""
    bases = drawn_together([speed.base_s for speed in speeds], _BASE_SCATTER)
    slopes = drawn_together([speed.per_sequence_s for speed in speeds], _SLOPE_SCATTER)
    prompts = drawn_together(
        [speed.prompt_s_per_byte / max(speed.base_s, _LEAST_BASE_S) for speed in speeds],
        _PROMPT_SCATTER,
    )
    return [
        Speed(base_s, slope, prompt * max(base_s, _LEAST_BASE_S), speed.capacity)
        for base_s, slope, prompt, speed in zip(bases, slopes, prompts, speeds, strict=True)
    ]


def _decayed(timing: EngineTiming, prior: StepTime) -> StepTime:
    kept, step = 0.5 ** (timing.age_s / HALF_LIFE_S), timing.step
    if kept > _HARDLY_AGED:
        return step
    return StepTime(
        base_s=step.base_s**kept * prior.base_s ** (1.0 - kept),
        per_sequence_s=step.per_sequence_s**kept * prior.per_sequence_s ** (1.0 - kept),
        per_kv_token_s=step.per_kv_token_s,
    )


def _prompt_s_per_byte(timing: EngineTiming) -> float | None:
    if not timing.prefill_tokens_per_s:
        return None
    return 1.0 / (timing.prefill_tokens_per_s * (timing.bytes_per_token or DEFAULT_BYTES_PER_TOKEN))


def _typical(values: Sequence[float], default: float) -> float:
    """Geometric mean of those above zero."""
    logs = [log(value) for value in values if value > 0.0]
    return exp(sum(logs) / len(logs)) if logs else default
