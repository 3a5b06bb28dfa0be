"""The loads of a run, met exactly: what the model is off at each, carried to those between."""

from collections.abc import Sequence

import msgspec

from proa.errors import FieldError
from proa.planner.speed.calibration import (
    LevelFactor,
    MeasuredSpeed,
    SpeedCalibration,
    calibrated,
    calibration_of,
)
from proa.planner.speed.performance import PerformanceSpec, engine_of, load_of, ranks_of
from proa.planner.speed.serving_formula import closed_loop


class MeasuredLevel(msgspec.Struct, frozen=True, kw_only=True):
    """Means of one load in a closed loop; None is what was not measured."""

    users: float
    tpot_s: float
    ttft_s: float | None = None
    ttft_p95_s: float | None = None

    def __post_init__(self) -> None:
        for field in ("users", "tpot_s", "ttft_s", "ttft_p95_s"):
            value = getattr(self, field)
            if value is not None and not value > 0:
                raise FieldError(field, value, "a number above 0")


def speed_calibration(
    spec: PerformanceSpec, levels: Sequence[MeasuredLevel], hinge: MeasuredSpeed | None = None
) -> SpeedCalibration:
    """What a run of the engine in `spec` says, whose lengths are those of the run.

    First the hinge sets the model's factors, where the run had levels enough for one; then each
    level's times are compared with what the model gives at its users. Several visits of a level
    count as their mean. A TTFT that was not measured keeps the model's.

    Raises:
        FieldError: no level.
    """
    if not levels:
        raise FieldError("levels", 0, "one measured load or more")
    ranks, engine = ranks_of(spec), engine_of(spec)
    found = calibration_of(engine, hinge, ranks=ranks) if hinge else SpeedCalibration()
    engine = calibrated(engine, found)

    def factor(users: float) -> LevelFactor:
        visits = [each for each in levels if each.users == users]
        asked = msgspec.structs.replace(spec, users=users, requests_per_s=None)
        served = closed_loop(engine, load_of(asked, ranks))
        first = _ratio(served.ttft_s, [each.ttft_s for each in visits])
        return LevelFactor(
            users=users,
            gap=_ratio(served.tpot_s, [each.tpot_s for each in visits]) or 1.0,
            first=first or 1.0,
            first_p95=_ratio(served.ttft_p95_s, [each.ttft_p95_s for each in visits])
            or first
            or 1.0,
        )

    factors = tuple(factor(users) for users in sorted({each.users for each in levels}))
    return msgspec.structs.replace(found, levels=factors)


def _ratio(planned: float, seen: Sequence[float | None]) -> float | None:
    known = [each for each in seen if each is not None]
    return sum(known) / len(known) / planned if known else None
