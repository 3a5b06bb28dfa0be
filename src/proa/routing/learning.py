"""How long an engine's decode steps take, learned from the tokens that it sends.

Pure: windows go in with their time, a `StepTime` comes out. `StepFit` is the regression,
`StepLearner` decides what it is fed with. How prompts are taken in: `prefill.py`.
"""

import msgspec

from proa.domain.timing import StepTime
from proa.routing.speeds import ASSUMED

_STEPS = 6.0  # an observation has at least so many: arrivals come in whole steps
_NOISE = 0.06  # of an observation, relative
_SPREAD = 0.5  # of the prior, relative
_KV_SPREAD = 1e-5  # of the time per KV token, relative to the base
_KEPT = 0.97  # of what is known in a direction, each time that the direction is seen
_GAIN = 0.35  # of the one factor
_VARIED = 2.0
_NARROWING = 0.005  # of the range in which the sequences varied, with each observation
_SURPRISE = 1.25
_SURPRISES = 3

_Vector = list[float]


class WindowSample(msgspec.Struct, frozen=True, kw_only=True):
    """What the streams of one engine got in a window of `seconds`.

    `tokens` arrived on own streams within `stream_s`, the sum of these streams' times in
    the window. `sequences` is the mean number that the engine decoded, those of other
    clients included, `kv_tokens` what they held together, 0 where that is not known.
    """

    seconds: float
    tokens: float
    stream_s: float
    sequences: float
    kv_tokens: float = 0.0


NOTHING = WindowSample(seconds=0.0, tokens=0.0, stream_s=0.0, sequences=0.0)


class StepFit:
    """Recursive least squares for base, per sequence, per KV token, none of them negative.

    A Kalman filter whose noise is relative to the observation. It forgets only in the
    direction that an observation excites, so that a quiet direction stays as it was
    learned and does not blow up.

    Source:
        Cao & Schwartz 2000, A directional forgetting algorithm based on the
        decomposition of the information matrix, Automatica 36.
    """

    def __init__(self, step: StepTime) -> None:
        self._values = [step.base_s, step.per_sequence_s, step.per_kv_token_s]
        self._covariance: list[_Vector] = []
        self.loosen()

    @property
    def step(self) -> StepTime:
        base_s, per_sequence_s, per_kv_token_s = self._values
        return StepTime(base_s=base_s, per_sequence_s=per_sequence_s, per_kv_token_s=per_kv_token_s)

    def loosen(self) -> None:
        """Doubt everything as much as at the beginning."""
        base_s, per_sequence_s, per_kv_token_s = self._values
        floor_s = 0.02 * base_s + 1e-9
        spreads = (
            _SPREAD * base_s + floor_s,
            _SPREAD * per_sequence_s + _SPREAD * floor_s,
            _SPREAD * per_kv_token_s + _KV_SPREAD * base_s,
        )
        self._covariance = [
            [spread * spread if i == j else 0.0 for j in range(3)]
            for i, spread in enumerate(spreads)
        ]

    def scale(self, factor: float) -> None:
        """Everything takes `factor` times as long as was thought; doubts grow with it."""
        self._values = [value * factor for value in self._values]
        self._covariance = [[cell * factor * factor for cell in row] for row in self._covariance]

    def learn(self, features: _Vector, step_s: float) -> None:
        """One observation of a step's time with these (1, sequences, KV tokens)."""
        covariance = self._covariance
        pushed = [_dot(row, features) for row in covariance]
        excited = _dot(pushed, features)
        noise = _NOISE * step_s
        total = excited + noise * noise
        residual = step_s - _dot(self._values, features)
        self._values = [
            max(0.0, value + push / total * residual)
            for value, push in zip(self._values, pushed, strict=True)
        ]
        # after the update, in the direction just seen: 1/kept times as much doubt
        shrink = 1.0 / total - (1.0 / _KEPT - 1.0) * noise * noise / (total * excited)
        self._covariance = [
            [cell - shrink * push * other for cell, other in zip(row, pushed, strict=True)]
            for row, push in zip(covariance, pushed, strict=True)
        ]


class StepLearner:
    """The decode step of one engine, kept up to date by windows of its traffic.

    As long as the number of sequences varied less than twofold, one factor on the whole
    is learned, because base and slope cannot be told apart. An observation that is a
    quarter off is left out, unless it is the third in a row on one side: then the engine
    has changed, and all is scaled to the middle one of the three at once.
    """

    def __init__(self, start: StepTime | None = None) -> None:
        self.samples = 0
        self._is_told = start is not None
        self._fit = StepFit(start or ASSUMED)
        self._pending = NOTHING
        self._surprises: list[float] = []
        self._range = (0.0, 0.0)

    @property
    def step(self) -> StepTime | None:
        """What is thought now; None when nothing was ever seen or said."""
        return self._fit.step if self.samples or self._is_told else None

    def observe(self, sample: WindowSample) -> None:
        """Take a window in; those with too few steps wait for the next."""
        window = self._pending = _sum(self._pending, sample)
        if window.stream_s <= 0.0 or window.tokens * window.seconds < _STEPS * window.stream_s:
            return
        self._pending = NOTHING
        sequences = max(window.sequences, 1.0)
        self._learn(window.stream_s / window.tokens, sequences, window.kv_tokens)

    def _learn(self, step_s: float, sequences: float, kv_tokens: float) -> None:
        self.samples += 1
        ratio = step_s / self._fit.step.step_s(sequences, kv_tokens)
        self._widen(sequences)
        if self.samples == 1 and not self._is_told:
            self._fit.scale(ratio)
        elif self._is_surprised(ratio):
            return
        elif self._range[1] < _VARIED * self._range[0]:
            self._fit.scale(1.0 + _GAIN * (ratio - 1.0))
        else:
            self._fit.learn([1.0, sequences, kv_tokens], step_s)

    def _widen(self, sequences: float) -> None:
        low, high = self._range if self.samples > 1 else (sequences, sequences)
        low += _NARROWING * (sequences - low)
        high += _NARROWING * (sequences - high)
        self._range = (min(low, sequences), max(high, sequences))

    def _is_surprised(self, ratio: float) -> bool:
        """Whether the observation is far off; the third in a row on one side is believed."""
        if 1.0 / _SURPRISE < ratio < _SURPRISE:
            self._surprises.clear()
            return False
        if self._surprises and (self._surprises[0] > 1.0) is not (ratio > 1.0):
            self._surprises.clear()
        self._surprises.append(ratio)
        if len(self._surprises) >= _SURPRISES:
            self._fit.scale(sorted(self._surprises)[1])
            self._fit.loosen()
            self._surprises.clear()
        return True


def _dot(left: _Vector, right: _Vector) -> float:
    return left[0] * right[0] + left[1] * right[1] + left[2] * right[2]


def _sum(one: WindowSample, other: WindowSample) -> WindowSample:
    """Two windows as one; sequences and KV tokens are means over time."""
    seconds = one.seconds + other.seconds
    share = other.seconds / seconds if seconds > 0.0 else 1.0
    return WindowSample(
        seconds=seconds,
        tokens=one.tokens + other.tokens,
        stream_s=one.stream_s + other.stream_s,
        sequences=one.sequences + share * (other.sequences - one.sequences),
        kv_tokens=one.kv_tokens + share * (other.kv_tokens - one.kv_tokens),
    )
