"""What one load run says of an engine's speed, carried over to other loads of the same engine."""

import msgspec

from proa.errors import FieldError
from proa.planner.speed.serving_formula import Engine, Load, Served, closed_loop, prefill_s

_ROUNDS = 40
_MOST_FACTOR = 20.0


class MeasuredSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """What a load run measured of one engine.

    The hinge: gap between tokens = `base_s` + `per_user_s` x users, up to `knee_users`, at
    `input_tokens` and `output_tokens` of a request. `prefill_tokens_per_s` is that of a prompt
    alone, `ttft_s` the time to first token of a single user; None where it was not measured.
    """

    base_s: float
    per_user_s: float
    knee_users: float
    input_tokens: float
    output_tokens: float
    prefill_tokens_per_s: float | None = None
    ttft_s: float | None = None

    def __post_init__(self) -> None:
        for field in ("base_s", "input_tokens", "output_tokens"):
            if not getattr(self, field) > 0:
                raise FieldError(field, getattr(self, field), "a number above 0")
        if self.per_user_s < 0:
            raise FieldError("per_user_s", self.per_user_s, "a number from 0")
        if self.knee_users < 2:
            raise FieldError("knee_users", self.knee_users, "a number from 2")
        for field in ("prefill_tokens_per_s", "ttft_s"):
            value = getattr(self, field)
            if value is not None and not value > 0:
                raise FieldError(field, value, "a number above 0")


class LevelFactor(msgspec.Struct, frozen=True, kw_only=True):
    """What measured times of one load are of the model's: gap, first token's mean and its P95."""

    users: float
    gap: float
    first: float
    first_p95: float


class SpeedCalibration(msgspec.Struct, frozen=True, kw_only=True):
    """Factors on the model's times: 1.2 means that this engine takes a fifth longer.

    `fixed` launches, weights and latencies of a pass; `sequence` cache reads and bookkeeping of
    each sequence; `prompt` products and attention. `first_s` stands in for the model's time
    around a request, None leaves it. `levels` correct what is then left, see `measured_levels`.
    """

    fixed: float = 1.0
    sequence: float = 1.0
    prompt: float = 1.0
    first_s: float | None = None
    levels: tuple[LevelFactor, ...] = ()


def calibrated(engine: Engine, by: SpeedCalibration) -> Engine:
    """The same engine at the calibrated pace."""
    work, pace, serve = engine
    pace = pace._replace(
        read=pace.read / by.fixed,
        expert_read=pace.expert_read / by.fixed,
        kernel_s=pace.kernel_s * by.fixed,
        step_s=pace.step_s * by.fixed,
        cache_read=pace.cache_read / by.sequence,
        sequence_s=pace.sequence_s * by.sequence,
        math=pace.math / by.prompt,
        expert_math=pace.expert_math / by.prompt,
        attention_math=pace.attention_math / by.prompt,
    )
    if by.first_s is not None:
        serve = serve._replace(first_s=by.first_s)
    return Engine(work._replace(hop_s=work.hop_s * by.fixed), pace, serve)


def calibration_of(engine: Engine, measured: MeasuredSpeed, *, ranks: int = 1) -> SpeedCalibration:
    """The factors with which the model meets the measured hinge at one user and at the knee.

    Each round multiplies `fixed` by what one user's gap is off, `sequence` by what the slope is
    off, `prompt` by what the prefill is off; what a factor cannot make good within 20 times
    stays. `ranks` are the data-parallel and pipeline ranks over which users spread.

    Not modelled:
        the bend beyond the knee keeps the model's shape.
    """
    found = SpeedCalibration()
    for _ in range(_ROUNDS):
        tried = calibrated(engine, found)
        one, knee = (_gap_s(tried, measured, users, ranks) for users in (1.0, measured.knee_users))
        want_one = measured.base_s + measured.per_user_s
        slope = max((knee - one) / (measured.knee_users - 1), 1e-12)
        found = SpeedCalibration(
            fixed=_bounded(found.fixed * want_one / one),
            sequence=_bounded(found.sequence * (max(measured.per_user_s, 1e-9) / slope) ** 0.5),
            prompt=_bounded(found.prompt * _prompt_off(tried, measured)),
        )
    return msgspec.structs.replace(found, first_s=_first_s(calibrated(engine, found), measured))


def _load(measured: MeasuredSpeed, users: float) -> Load:
    tokens = measured.input_tokens
    return Load(users, users, tokens, tokens, measured.output_tokens)


def _gap_s(engine: Engine, measured: MeasuredSpeed, users: float, ranks: int) -> float:
    return float(closed_loop(engine, _load(measured, users / ranks)).tpot_s)


def _prompt_off(engine: Engine, measured: MeasuredSpeed) -> float:
    if measured.prefill_tokens_per_s is None:
        return 1.0
    planned = float(prefill_s(engine, _load(measured, 1.0)))
    return measured.input_tokens / measured.prefill_tokens_per_s / planned


def _first_s(engine: Engine, measured: MeasuredSpeed) -> float | None:
    if measured.ttft_s is None:
        return None
    planned = float(closed_loop(engine, _load(measured, 1.0)).ttft_s)
    return max(0.0, measured.ttft_s - planned + float(engine.serve.first_s))


def _bounded(factor: float) -> float:
    return min(max(factor, 1 / _MOST_FACTOR), _MOST_FACTOR)


def corrected(served: Served, by: SpeedCalibration, users: float) -> Served:
    """The times after what the run's levels showed: its factor at `users`, straight between two.

    Below the first level and beyond the last the nearest one's factor holds.
    """
    if not by.levels:
        return served
    at = _between(by.levels, users)
    return served._replace(
        ttft_s=served.ttft_s * at.first,
        ttft_p95_s=served.ttft_p95_s * at.first_p95,
        step_s=served.step_s * at.gap,
        tpot_s=served.tpot_s * at.gap,
    )


def _between(levels: tuple[LevelFactor, ...], users: float) -> LevelFactor:
    below = [each for each in levels if each.users <= users]
    above = [each for each in levels if each.users >= users]
    if not below or not above or below[-1] is above[0]:
        return below[-1] if below else above[0]
    low, high = below[-1], above[0]
    part = (users - low.users) / (high.users - low.users)

    def mixed(name: str) -> float:
        before, after = getattr(low, name), getattr(high, name)
        return float(before + part * (after - before))

    return LevelFactor(
        users=users, gap=mixed("gap"), first=mixed("first"), first_p95=mixed("first_p95")
    )
