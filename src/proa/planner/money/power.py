"""What the servers draw, and what that means for the room: energy, heat, current, space."""

from fractions import Fraction

import msgspec

from proa.errors import FieldError
from proa.planner import bounds as b
from proa.planner.assumptions import Answers, Assumption, Default
from proa.planner.exact import exact
from proa.planner.text import Text

BTU_PER_HOUR_PER_W = 3.412141633
"""One watt in BTU/h (International Table)."""
HOURS_PER_DAY = 24
DAYS_PER_MONTH = 30
MONTHS_PER_YEAR = 12


class PowerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of `servers` servers with `gpus` GPUs in all.

    `power_w` at the wall, of everything, goes before all else. `gpu_power_w` is what one GPU
    draws in operation; without it, it follows from `gpu_tdp_w`, a cap `gpu_cap_w`, and where
    the idle draw is known the share of time under load. `system_power_w` is one server without
    its GPUs. `pue` is the room's total over what the servers draw.
    """

    gpus: int = 1
    servers: int = 1
    power_w: float | None = None
    gpu_power_w: float | None = None
    gpu_tdp_w: float | None = None
    gpu_cap_w: float | None = None
    gpu_idle_w: float | None = None
    load_share: float = 1.0
    system_power_w: float | None = None
    pue: float | None = None
    volts: float | None = None
    rack_units_per_server: float | None = None


class PowerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """`power_w` is the mean at the wall, `peak_w` at full load, `facility_w` with the room (PUE).

    A month has 30 days of 24 hours, a year 12 months. `amperes` and heat are of the peak;
    `rack_units` is None where a server's height was not given.
    """

    power_w: float
    peak_w: float
    facility_w: float
    gpu_power_w: float | None
    system_power_w: float | None
    kwh_per_month: float
    kwh_per_year: float
    btu_per_hour: float
    amperes: float
    rack_units: float | None
    assumptions: tuple[Assumption, ...]


PUE = Default(
    field="pue",
    value=1,
    bounds=b.Bounds(accepted="a ratio from 1 to 5", low=1, high=5),
    text=Text(
        "냉방 등 부대 전력은 제외(PUE {value})", "cooling and losses are left out (PUE {value})"
    ),
)
VOLTS = Default(
    field="volts",
    value=220,
    bounds=b.Bounds(accepted="volts above 0 and up to 1,000", low=0, high=1000, above=True),
    text=Text("전압을 {value} V로 가정", "the supply has {value} V"),
)
_SYSTEM_SHARE = Fraction(1, 2)
_LEAST_SYSTEM_W = Fraction(80)
_SYSTEM_TEXT = Text(
    "GPU를 제외한 서버 전력을 서버당 {value} W로 가정(GPU 전력의 절반, 최소 80 W)",
    "a server without its GPUs draws {value} W (half of what its GPUs do, at least 80 W)",
)


def power(spec: PowerSpec) -> PowerPlan:
    """power_w = gpus x GPU + servers x system; kWh = power_w x PUE x 24 x 30 / 1,000.

    A GPU under a load share draws idle + (cap - idle) x share; in full where idle is unknown.

    Not modelled:
        efficiency of power supplies apart (say what the wall sees), power factor.

    Raises:
        FieldError: a number is outside its range, or nothing tells what a GPU draws.
    """
    answers = Answers()
    mean, peak, gpu, system = _draws(spec, answers)
    facility = mean * answers.take(spec.pue, PUE)
    kwh = facility * HOURS_PER_DAY * DAYS_PER_MONTH / 1000
    units = spec.rack_units_per_server
    return PowerPlan(
        power_w=float(mean),
        peak_w=float(peak),
        facility_w=float(facility),
        gpu_power_w=None if gpu is None else float(gpu),
        system_power_w=None if system is None else float(system),
        kwh_per_month=float(kwh),
        kwh_per_year=float(kwh * MONTHS_PER_YEAR),
        btu_per_hour=float(peak) * BTU_PER_HOUR_PER_W,
        amperes=float(peak / answers.take(spec.volts, VOLTS)),
        rack_units=None if units is None else float(_rack_units(spec, units)),
        assumptions=tuple(answers.assumptions),
    )


def _draws(
    spec: PowerSpec, answers: Answers
) -> tuple[Fraction, Fraction, Fraction | None, Fraction | None]:
    """Mean and peak of everything, and the mean of one GPU and of one server without GPUs."""
    if spec.power_w is not None:
        whole = b.checked("power_w", spec.power_w, b.POSITIVE)
        return whole, whole, None, None
    gpus = b.checked("gpus", spec.gpus, b.COUNT)
    servers = b.checked("servers", spec.servers, b.COUNT)
    mean, peak = _gpu_draw(spec)
    if spec.system_power_w is None:
        system = max(_LEAST_SYSTEM_W, peak * gpus / servers * _SYSTEM_SHARE)
        told = Default(
            field="system_power_w", value=float(system), bounds=b.NOT_NEGATIVE, text=_SYSTEM_TEXT
        )
        answers.assumptions.append(told.assumption())
    else:
        system = b.checked("system_power_w", spec.system_power_w, b.NOT_NEGATIVE)
    return mean * gpus + system * servers, peak * gpus + system * servers, mean, system


def _gpu_draw(spec: PowerSpec) -> tuple[Fraction, Fraction]:
    """Mean and peak of one GPU."""
    if spec.gpu_power_w is not None:
        given = b.checked("gpu_power_w", spec.gpu_power_w, b.NOT_NEGATIVE)
        return given, given
    limits = [
        b.checked(field, value, b.POSITIVE)
        for field, value in (("gpu_tdp_w", spec.gpu_tdp_w), ("gpu_cap_w", spec.gpu_cap_w))
        if value is not None
    ]
    if not limits:
        accepted = "watts of one GPU, or power_w for everything at the wall"
        raise FieldError("gpu_power_w", None, accepted)
    full = min(limits)
    share = b.checked("load_share", spec.load_share, b.SHARE_OR_ZERO)
    if spec.gpu_idle_w is None:
        return full, full
    idle = min(b.checked("gpu_idle_w", spec.gpu_idle_w, b.NOT_NEGATIVE), full)
    return idle + (full - idle) * share, full


def _rack_units(spec: PowerSpec, each: float) -> Fraction:
    b.checked("rack_units_per_server", each, b.POSITIVE)
    return exact(each) * spec.servers
