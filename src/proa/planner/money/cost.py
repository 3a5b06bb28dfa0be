"""What the hardware costs, what it costs to run, and when it has paid for itself."""

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from proa.errors import FieldError
from proa.planner import bounds as b
from proa.planner.assumptions import Answers, Assumption, Default
from proa.planner.exact import exact
from proa.planner.money.cost_steps import CostNumbers, cost_steps
from proa.planner.money.power import DAYS_PER_MONTH, HOURS_PER_DAY, MONTHS_PER_YEAR, PowerPlan
from proa.planner.reckoning import Step
from proa.planner.text import Text
from proa.units import CURRENCIES, Money

_SECONDS_PER_MONTH = 3600 * HOURS_PER_DAY * DAYS_PER_MONTH


class CostSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Prices, each in any currency that `rates` convert to `currency` ({"USD": 1350}).

    `gpu_price` is of one GPU, `server_price` of one server without GPUs, `tariff` of one kWh,
    `cloud_price_per_hour` of one GPU, of which `cloud_gpus` are rented (as many as are owned,
    if None). Tokens are counted at `aggregate_tokens_per_s` for `busy_share` of the time.
    """

    currency: str
    rates: Mapping[str, float] = {}
    gpus: int = 1
    servers: int = 1
    gpu_price: Money | None = None
    server_price: Money | None = None
    tariff: Money | None = None
    cloud_price_per_hour: Money | None = None
    cloud_gpus: int | None = None
    depreciation_years: float | None = None
    aggregate_tokens_per_s: float | None = None
    busy_share: float | None = None


class CostPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Amounts in `currency`; None where a price that it needs was not given.

    `per_tokens_per_s` is hardware alone, `per_million_tokens` depreciation and electricity.
    `electricity_in_cloud_days`: a year's electricity, in days of renting. `break_even_months`
    is None where it never comes; `break_even` says why, or when.
    """

    currency: str
    hardware: float | None
    power_w: float | None
    kwh_per_month: float | None
    electricity_per_month: float | None
    electricity_per_year: float | None
    depreciation_per_month: float | None
    per_tokens_per_s: float | None
    per_million_tokens: float | None
    cloud_per_day: float | None
    cloud_per_month: float | None
    electricity_in_cloud_days: float | None
    break_even_months: float | None
    break_even: Text
    steps: tuple[Step, ...]
    assumptions: tuple[Assumption, ...]


DEPRECIATION_YEARS = Default(
    field="depreciation_years",
    value=5,
    bounds=b.Bounds(accepted="years above 0 and up to 50", low=0, high=50, above=True),
    text=Text(
        "장비를 {value}년간 정액 상각한다고 가정", "hardware is written off over {value} years"
    ),
)
BUSY_SHARE = Default(
    field="busy_share",
    value=1,
    bounds=b.SHARE,
    as_percent=True,
    text=Text(
        "전체 시간의 {value} 동안 최대 속도로 출력한다고 가정(100만 토큰당 비용의 하한)",
        "tokens flow at full speed {value} of the time (a lower bound of the cost per million)",
    ),
)


def cost(spec: CostSpec, power: PowerPlan | None) -> CostPlan:
    """Hardware, electricity and cloud in one currency; `power` None where nothing draws (cloud).

    break-even = hardware / (cloud per month - electricity per month);
    per million tokens = (depreciation + electricity) per month / tokens per month x 10^6.

    Not modelled:
        interest, staff, space, value at the end, network charges of a cloud.

    Raises:
        FieldError: a number is outside its range, or a currency has no rate.
    """
    answers = Answers()
    numbers = _numbers(spec, power, answers)
    months, why = _break_even(numbers)
    return CostPlan(
        currency=spec.currency,
        hardware=_float(numbers.hardware),
        power_w=None if power is None else power.power_w,
        kwh_per_month=None if power is None else power.kwh_per_month,
        electricity_per_month=_float(numbers.electricity),
        electricity_per_year=_float(_times(numbers.electricity, Fraction(MONTHS_PER_YEAR))),
        depreciation_per_month=_float(numbers.depreciation),
        per_tokens_per_s=_float(_ratio(numbers.hardware, numbers.speed)),
        per_million_tokens=_float(_per_million(spec, numbers, answers)),
        cloud_per_day=_float(numbers.cloud_per_day),
        cloud_per_month=_float(_times(numbers.cloud_per_day, Fraction(DAYS_PER_MONTH))),
        electricity_in_cloud_days=_float(
            _ratio(_times(numbers.electricity, Fraction(MONTHS_PER_YEAR)), numbers.cloud_per_day)
        ),
        break_even_months=_float(months),
        break_even=why,
        steps=cost_steps(spec.currency, numbers, months),
        assumptions=tuple(answers.assumptions),
    )


def converted(field: str, money: Money, currency: str, rates: Mapping[str, float]) -> Fraction:
    """The amount in `currency`, exactly.

    Raises:
        FieldError: negative, an unknown currency, or one without a rate.
    """
    if currency not in CURRENCIES:
        raise FieldError("currency", currency, f"one of {', '.join(CURRENCIES)}")
    amount = b.checked(field, money.amount, b.NOT_NEGATIVE)
    if money.currency == currency:
        return amount
    if money.currency not in rates:
        accepted = f"a price in {currency}, or exchange_rate with the price of one {money.currency}"
        raise FieldError(field, f"{money.amount:g} {money.currency}", accepted)
    return amount * b.checked("exchange_rate", rates[money.currency], b.POSITIVE)


def _numbers(spec: CostSpec, power: PowerPlan | None, answers: Answers) -> CostNumbers:
    def price(field: str, money: Money | None) -> Fraction | None:
        return None if money is None else converted(field, money, spec.currency, spec.rates)

    gpus = b.checked("gpus", spec.gpus, b.COUNT)
    servers = b.checked("servers", spec.servers, b.COUNT)
    gpu, server = price("gpu_price", spec.gpu_price), price("server_price", spec.server_price)
    hardware = None if gpu is None else gpu * gpus + (server or 0) * servers
    tariff = price("tariff", spec.tariff)
    rent = price("cloud_price_per_hour", spec.cloud_price_per_hour)
    rented = b.checked(
        "cloud_gpus", spec.gpus if spec.cloud_gpus is None else spec.cloud_gpus, b.COUNT
    )
    speed = spec.aggregate_tokens_per_s
    kwh = None if power is None else exact(power.kwh_per_month)
    depreciation = None
    if hardware is not None:
        years = answers.take(spec.depreciation_years, DEPRECIATION_YEARS)
        depreciation = hardware / (years * MONTHS_PER_YEAR)
    return CostNumbers(
        gpus=gpus,
        gpu_price=gpu,
        servers=servers,
        server_price=server,
        hardware=hardware,
        power=power,
        tariff=tariff,
        electricity=None if kwh is None or tariff is None else kwh * tariff,
        rent=rent,
        rented=rented,
        cloud_per_day=None if rent is None else rent * rented * HOURS_PER_DAY,
        speed=None if speed is None else b.checked("aggregate_tokens_per_s", speed, b.POSITIVE),
        depreciation=depreciation,
    )


def _per_million(spec: CostSpec, numbers: CostNumbers, answers: Answers) -> Fraction | None:
    if numbers.speed is None or numbers.depreciation is None or numbers.electricity is None:
        return None
    busy = answers.take(spec.busy_share, BUSY_SHARE)
    millions = numbers.speed * busy * _SECONDS_PER_MONTH / 10**6
    return (numbers.depreciation + numbers.electricity) / millions


_NO_HARDWARE = Text("장비 가격이 없어 계산하지 않음", "not reckoned: no price of the hardware")
_NO_CLOUD = Text("클라우드 가격이 없어 계산하지 않음", "not reckoned: no price of the cloud")
_NO_ELECTRICITY = Text("전기 요금이 없어 계산하지 않음", "not reckoned: no price of electricity")
_NEVER = Text(
    "전기 요금만으로도 클라우드 비용 이상이어서 회수되지 않음",
    "never: electricity alone costs as much as the cloud, or more",
)
_WHEN = Text("{months}개월째에 회수", "paid back in month {months}")


def _break_even(numbers: CostNumbers) -> tuple[Fraction | None, Text]:
    if numbers.hardware is None:
        return None, _NO_HARDWARE
    if numbers.cloud_per_day is None:
        return None, _NO_CLOUD
    if numbers.electricity is None:
        return None, _NO_ELECTRICITY
    saved = numbers.cloud_per_day * DAYS_PER_MONTH - numbers.electricity
    if saved <= 0:
        return None, _NEVER
    months = numbers.hardware / saved
    return months, _WHEN.fill(months=max(1, -(-months.numerator // months.denominator)))


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _times(value: Fraction | None, factor: Fraction) -> Fraction | None:
    return None if value is None else value * factor


def _ratio(value: Fraction | None, by: Fraction | None) -> Fraction | None:
    return None if value is None or not by else value / by
