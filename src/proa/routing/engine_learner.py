"""All that is learned of one engine from its traffic, as one timing."""

from math import exp

import msgspec

from proa.domain.timing import EngineTiming, TimingSource
from proa.routing.fading import FadingRatio
from proa.routing.learning import StepLearner, WindowSample
from proa.routing.speeds import DEFAULT_BYTES_PER_TOKEN

_MEMORY = 200.0  # finished requests that a mean goes back
_PREFILL_MEMORY = 50.0
_WAIT_STEPS = 1.5
_WAIT_SPREAD_STEPS = 0.5  # of single requests, and of what is thought of their mean
_WAIT_SAMPLES = 1.0  # that this thought is worth


class TrafficWindow(msgspec.Struct, frozen=True, kw_only=True):
    """What one engine's traffic added up to in a window of `seconds`; sums over workers.

    decode    `events` came on own streams within `stream_s` of stream time, while the
              engine decoded `sequences` in the mean (those of others included)
    usage     finished streams that told their usage: `told_tokens` came as `told_events`
    answers   `answers` ended whole, with `answer_tokens` together
    prompts   `prompt_bytes` of bodies whose prompts had `prompt_tokens` by their usage
    prefill   `first_count` streams that met no other prompt at the engine began after
              `first_s` together; their bodies had `first_bytes` together, with the sums
              of squares `first_bytes2` and of products with the time `first_bytes_s`
    """

    seconds: float = 0.0
    events: float = 0.0
    stream_s: float = 0.0
    sequences: float = 0.0
    kv_tokens: float = 0.0
    told_events: float = 0.0
    told_tokens: float = 0.0
    answers: float = 0.0
    answer_tokens: float = 0.0
    prompt_bytes: float = 0.0
    prompt_tokens: float = 0.0
    first_count: float = 0.0
    first_s: float = 0.0
    first_bytes: float = 0.0
    first_bytes2: float = 0.0
    first_bytes_s: float = 0.0


class PrefillFit:
    """Seconds per byte of a prompt, from the times to the first token of undisturbed streams.

    ttft = wait + s_per_byte x bytes, by least squares. The wait, for the step under way
    and for the own one, is about `_WAIT_STEPS` steps until sizes that vary tell it better.
    """

    def __init__(self) -> None:
        self._sums = [0.0] * 5  # count, seconds, bytes, bytes squared, bytes x seconds

    def add(self, window: TrafficWindow) -> None:
        kept = exp(-window.first_count / _PREFILL_MEMORY)
        added = (window.first_count, window.first_s, window.first_bytes,
                 window.first_bytes2, window.first_bytes_s)  # fmt: skip
        self._sums = [old * kept + new for old, new in zip(self._sums, added, strict=True)]

    def s_per_byte(self, step_s: float) -> float | None:
        """None while nothing tells it, or it is within twice its standard error of nothing."""
        count, seconds, size, size2, product = self._sums
        if not size2:
            return None
        count += _WAIT_SAMPLES
        seconds += _WAIT_SAMPLES * _WAIT_STEPS * step_s
        determinant = count * size2 - size * size
        slope = (count * product - size * seconds) / determinant
        error = _WAIT_SPREAD_STEPS * step_s * (count / determinant) ** 0.5
        return slope if slope > 2.0 * error else None


class EngineLearner:
    """Takes windows in, tells the timing.

    `start` is what the catalogue or an earlier run says, if anything, as of `now_s`.
    """

    def __init__(self, start: EngineTiming | None = None, now_s: float = 0.0) -> None:
        self._start = start
        self._steps = StepLearner(start.step if start is not None else None)
        self._tokens_per_event = FadingRatio(_MEMORY)
        self._output_tokens = FadingRatio(_MEMORY)
        self._bytes_per_token = FadingRatio(_MEMORY)
        self._prefill = PrefillFit()
        self._sequences = 1.0
        self._kv_tokens_per_sequence = 0.0
        self._seen_s = now_s - (start.age_s if start is not None else 0.0)

    def observe(self, window: TrafficWindow, now_s: float) -> None:
        """The traffic since the last call."""
        answers = window.answers
        if window.told_events:
            self._tokens_per_event.add(window.told_tokens, window.told_events, answers)
        if answers:
            self._output_tokens.add(window.answer_tokens, answers, answers)
        if window.prompt_tokens:
            self._bytes_per_token.add(window.prompt_bytes, window.prompt_tokens, answers)
        if window.first_count:
            self._prefill.add(window)
        if window.stream_s > 0.0:
            self._decoded(window, now_s)

    @property
    def has_learned(self) -> bool:
        return self._steps.samples > 0

    def timing(self, now_s: float) -> EngineTiming | None:
        """What is thought now; None when nothing was ever seen or said."""
        step, learned = self._steps.step, self._steps.samples
        if step is None:
            return None
        told = self._start or EngineTiming(step=step, source=TimingSource.LEARNED)
        bytes_per_token = self._bytes_per_token.value
        s_per_byte = self._prefill.s_per_byte(step.step_s(self._sequences))
        rate = None
        if s_per_byte is not None:
            rate = 1.0 / (s_per_byte * (bytes_per_token or DEFAULT_BYTES_PER_TOKEN))
        return EngineTiming(
            step=step,
            prefill_tokens_per_s=rate or told.prefill_tokens_per_s,
            output_tokens=self._output_tokens.value or told.output_tokens,
            bytes_per_token=bytes_per_token or told.bytes_per_token,
            kv_tokens_per_sequence=self._kv_tokens_per_sequence,
            source=TimingSource.LEARNED if learned else told.source,
            samples=learned + told.samples,
            age_s=max(now_s - self._seen_s, 0.0),
            prior=told.prior,
        )

    def _decoded(self, window: TrafficWindow, now_s: float) -> None:
        if window.events:
            self._seen_s = now_s
            self._sequences = max(window.sequences, 1.0)
            self._kv_tokens_per_sequence = window.kv_tokens / self._sequences
        sample = WindowSample(
            seconds=window.seconds,
            tokens=window.events * (self._tokens_per_event.value or 1.0),
            stream_s=window.stream_s,
            sequences=window.sequences,
            kv_tokens=window.kv_tokens,
        )
        self._steps.observe(sample)
