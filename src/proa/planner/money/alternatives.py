"""More speed for money: another main GPU, an auxiliary one, the cloud, or nothing, in one table."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from proa.planner import bounds as b
from proa.planner.money.cost import converted
from proa.planner.money.power import DAYS_PER_MONTH, HOURS_PER_DAY
from proa.planner.text import Text
from proa.units import Money


class OptionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One way; `tokens_per_s` is what it adds, `power_w` what it draws at the wall.

    Bought ways have a `price`, rented ones a `price_per_hour`; nothing has neither.
    """

    key: str
    name: Text
    tokens_per_s: float = 0.0
    price: Money | None = None
    price_per_hour: Money | None = None
    hours_per_day: float = HOURS_PER_DAY
    power_w: float = 0.0


class AlternativesSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared, over `months`, in `currency` (`rates` as in `CostSpec`)."""

    options: Sequence[OptionSpec]
    currency: str
    rates: Mapping[str, float] = {}
    tariff: Money | None = None
    pue: float = 1.0
    months: int = 36


class AlternativeRow(msgspec.Struct, frozen=True, kw_only=True):
    """One way, all amounts in one currency; `per_tokens_per_s` is its price over what it adds.

    `total` is what it costs in all over the months; None where the electricity has no tariff.
    `per_million_tokens` divides that by the tokens of the same time at full speed.
    """

    key: str
    name: Text
    tokens_per_s: float
    price: float
    per_tokens_per_s: float | None
    electricity_per_month: float | None
    rent_per_month: float
    total: float | None
    per_million_tokens: float | None


class PairPlan(msgspec.Struct, frozen=True, kw_only=True):
    """An auxiliary GPU beside a main one.

    `price_ratio`: how many times as much a token per second costs on the main one. Shares are
    of the main one: what the auxiliary adds to its price and to its speed.
    """

    tokens_per_s: float
    price: float
    main_per_tokens_per_s: float
    auxiliary_per_tokens_per_s: float
    price_ratio: float
    price_share: float
    speed_share: float


SECOND_MAIN = Text("주 GPU 한 장 더", "a second main GPU")
AUXILIARY = Text("보조 GPU 추가", "an auxiliary GPU")
CLOUD = Text("클라우드", "the cloud")
NOTHING = Text("추가하지 않음", "nothing")


def alternatives(spec: AlternativesSpec) -> tuple[AlternativeRow, ...]:
    """Every way, in the order given; total = price + months x (electricity + rent).

    Raises:
        FieldError: a number is outside its range, or a currency has no rate.
    """
    pue = b.checked("pue", spec.pue, b.FACTOR)
    months = b.checked("months", spec.months, b.COUNT)
    return tuple(_row(spec, option, pue, months) for option in spec.options)


def pair(
    main: OptionSpec, auxiliary: OptionSpec, currency: str, rates: Mapping[str, float]
) -> PairPlan:
    """Both as one: prices and speeds add up.

    Not modelled:
        what a gateway in front costs, and how well the load divides (`proa bench combine`).

    Raises:
        FieldError: one has no price or no speed, or a currency has no rate.
    """
    (main_price, main_speed), (aux_price, aux_speed) = (
        _price_and_speed(option, currency, rates) for option in (main, auxiliary)
    )
    main_each, aux_each = main_price / main_speed, aux_price / aux_speed
    return PairPlan(
        tokens_per_s=float(main_speed + aux_speed),
        price=float(main_price + aux_price),
        main_per_tokens_per_s=float(main_each),
        auxiliary_per_tokens_per_s=float(aux_each),
        price_ratio=float(main_each / aux_each),
        price_share=float(aux_price / main_price),
        speed_share=float(aux_speed / main_speed),
    )


def _price_and_speed(
    option: OptionSpec, currency: str, rates: Mapping[str, float]
) -> tuple[Fraction, Fraction]:
    price = converted("price", option.price or Money(0.0, currency), currency, rates)
    b.checked("price", float(price), b.POSITIVE)
    return price, b.checked("tokens_per_s", option.tokens_per_s, b.POSITIVE)


def _row(
    spec: AlternativesSpec, option: OptionSpec, pue: Fraction, months: Fraction
) -> AlternativeRow:
    def amount(field: str, money: Money | None) -> Fraction:
        return converted(field, money or Money(0.0, spec.currency), spec.currency, spec.rates)

    speed = b.checked("tokens_per_s", option.tokens_per_s, b.NOT_NEGATIVE)
    watts = b.checked("power_w", option.power_w, b.NOT_NEGATIVE)
    hours = b.checked("hours_per_day", option.hours_per_day, _HOURS) * DAYS_PER_MONTH
    price = amount("price", option.price)
    rent = amount("price_per_hour", option.price_per_hour) * hours
    electricity = None
    if spec.tariff is not None or not watts:
        electricity = watts * pue * hours / 1000 * amount("tariff", spec.tariff)
    total = None if electricity is None else price + months * (electricity + rent)
    millions = speed * hours * 3600 * months / 10**6
    return AlternativeRow(
        key=option.key,
        name=option.name,
        tokens_per_s=float(speed),
        price=float(price),
        per_tokens_per_s=float(price / speed) if price and speed else None,
        electricity_per_month=None if electricity is None else float(electricity),
        rent_per_month=float(rent),
        total=None if total is None else float(total),
        per_million_tokens=float(total / millions) if total is not None and millions else None,
    )


_HOURS = b.Bounds(accepted="hours above 0 and up to 24", low=0, high=24, above=True)
