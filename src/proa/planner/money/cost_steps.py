"""The lines of the bill: each with its formula and the numbers put in."""

from collections.abc import Iterator
from fractions import Fraction

import msgspec

from proa.planner.exact import exact
from proa.planner.money.power import DAYS_PER_MONTH, HOURS_PER_DAY, PowerPlan
from proa.planner.reckoning import Step
from proa.planner.text import Text, written


class CostNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The exact numbers behind a `CostPlan`, in one currency; None is not known."""

    gpus: Fraction
    gpu_price: Fraction | None
    servers: Fraction
    server_price: Fraction | None
    hardware: Fraction | None
    power: PowerPlan | None
    tariff: Fraction | None
    electricity: Fraction | None
    rent: Fraction | None
    rented: Fraction
    cloud_per_day: Fraction | None
    speed: Fraction | None
    depreciation: Fraction | None


_HARDWARE = (
    Text("장비 가격", "hardware"),
    Text("GPU 수 × GPU 가격 + 서버 수 × 서버 가격", "GPUs × GPU price + servers × server price"),
)
_ENERGY = (
    Text("월 전력량", "energy per month"),
    Text("전력 × PUE × 24시간 × 30일 ÷ 1,000", "power × PUE × 24 h × 30 d ÷ 1,000"),
)
_ELECTRICITY = (
    Text("월 전기 요금", "electricity per month"),
    Text("월 전력량 × 단가", "energy per month × tariff"),
)
_PER_SPEED = (
    Text("초당 토큰당 장비 가격", "hardware per token/s"),
    Text("장비 가격 ÷ 전체 출력 속도", "hardware ÷ aggregate speed"),
)
_CLOUD = (
    Text("클라우드 월 비용", "cloud per month"),
    Text("GPU 수 × 시간당 가격 × 24시간 × 30일", "GPUs × price per hour × 24 h × 30 d"),
)
_BREAK_EVEN = (
    Text("손익분기", "break-even"),
    Text(
        "장비 가격 ÷ (클라우드 월 비용 − 월 전기 요금)",
        "hardware ÷ (cloud per month − electricity per month)",
    ),
)
_KWH = Text("kWh", "kWh")
_MONTHS = Text("개월", "months")


def cost_steps(currency: str, n: CostNumbers, months: Fraction | None) -> tuple[Step, ...]:
    """Every line that could be reckoned, in order."""
    return tuple(_steps(Text(f" {currency}", currency), n, months))


def _steps(money: Text, n: CostNumbers, months: Fraction | None) -> Iterator[Step]:
    if n.hardware is not None and n.gpu_price is not None:
        filled = f"{written(n.gpus)} × {written(n.gpu_price)}"
        if n.server_price:
            filled += f" + {written(n.servers)} × {written(n.server_price)}"
        yield _step("hardware", _HARDWARE, filled, n.hardware, money)
    if n.power is not None:
        kwh = exact(n.power.kwh_per_month)
        yield _step("kwh_per_month", _ENERGY, _energy(n, n.power), kwh, _KWH)
        if n.electricity is not None and n.tariff is not None:
            filled = f"{written(kwh)} × {written(n.tariff)}"
            yield _step("electricity_per_month", _ELECTRICITY, filled, n.electricity, money)
    if n.hardware is not None and n.speed:
        filled = f"{written(n.hardware)} ÷ {written(n.speed)}"
        yield _step("per_tokens_per_s", _PER_SPEED, filled, n.hardware / n.speed, money)
    if n.cloud_per_day is None or n.rent is None:
        return
    cloud = n.cloud_per_day * DAYS_PER_MONTH
    filled = f"{written(n.rented)} × {written(n.rent)} × {HOURS_PER_DAY} × {DAYS_PER_MONTH}"
    yield _step("cloud_per_month", _CLOUD, filled, cloud, money)
    if months is not None and n.hardware is not None and n.electricity is not None:
        filled = f"{written(n.hardware)} ÷ ({written(cloud)} − {written(n.electricity)})"
        yield _step("break_even_months", _BREAK_EVEN, filled, months, _MONTHS)


def _energy(n: CostNumbers, power: PowerPlan) -> str:
    watts = written(power.power_w)
    if power.gpu_power_w is not None and power.system_power_w is not None:
        each = (power.gpu_power_w, n.gpus), (power.system_power_w, n.servers)
        watts = "(" + " + ".join(_draw(w, count) for w, count in each) + ")"
    pue = power.facility_w / power.power_w if power.power_w else 1.0
    room = "" if abs(pue - 1) < 1e-12 else f" × {written(pue)}"
    return f"{watts} W{room} × {HOURS_PER_DAY} × {DAYS_PER_MONTH} ÷ 1,000"


def _draw(watts: float, count: Fraction) -> str:
    return written(watts) if count == 1 else f"{written(count)} × {written(watts)}"


def _step(key: str, texts: tuple[Text, Text], filled: str, result: Fraction, unit: Text) -> Step:
    name, formula = texts
    return Step(key=key, name=name, formula=formula, filled=filled, result=float(result), unit=unit)
