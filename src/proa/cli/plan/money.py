"""Power, prices and clouds of a plan, in one currency."""

import msgspec

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.texts import both
from proa.domain.gpu import GpuSpec
from proa.planner.assumptions import Assumption
from proa.planner.money.cost import CostPlan, CostSpec, cost
from proa.planner.money.power import PowerPlan, PowerSpec, power
from proa.planner.text import Text
from proa.units import Money

_DEAREST_DOLLARS_PER_KWH = 5.0
_GPUS_PER_SERVER = 8


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """What it costs; None where nothing tells the power, or no price is known."""

    cost: CostPlan | None
    power: PowerPlan | None
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[Text, ...] = ()


class Purse(msgspec.Struct, frozen=True, kw_only=True):
    """The currency of the answer, and what a dollar costs in it."""

    currency: str
    rates: dict[str, float]
    assumptions: tuple[Assumption, ...] = ()

    def price(self, money: Money | None, *, abroad: bool = True) -> Money | None:
        """The amount with its currency: a bare one is in dollars where a rate was given."""
        if money is None or money.currency:
            return money
        return Money(money.amount, "USD" if abroad and self.rates else self.currency)

    def converts(self, money: Money) -> bool:
        return money.currency == self.currency or money.currency in self.rates


def purse_of(asked: PlanAsked) -> Purse:
    """Currency: as asked; else of the first price that names one; KRW for a rate, or a tariff
    that no dollar is; else USD."""
    prices = (asked.tariff, asked.gpu_price, asked.server_price, asked.cloud_price_per_hour)
    assumed = []
    currency = asked.currency
    if currency is None:
        named = [price.currency for price in prices if price is not None and price.currency]
        bare = asked.tariff is not None and not asked.tariff.currency
        dear = bare and asked.tariff is not None and asked.tariff.amount > _DEAREST_DOLLARS_PER_KWH
        guess = "KRW" if asked.exchange_rate or dear else "USD"
        is_guess = not named or dear or asked.exchange_rate is not None
        currency = guess if is_guess else named[0]
        if is_guess:
            assumed.append(_assumed("currency", currency))
    rates = {}
    if asked.exchange_rate is not None and currency != "USD":
        rates = {"USD": asked.exchange_rate}
        if any(price is not None and not price.currency for price in prices[1:]):
            assumed.append(_assumed("bare_prices", "USD"))
    return Purse(currency=currency, rates=rates, assumptions=tuple(assumed))


def bill_of(
    asked: PlanAsked, *, gpu: GpuSpec | None, gpus: int, aggregate_tokens_per_s: float | None
) -> Bill:
    """Power and cost of so many GPUs, which nobody has to have named.

    Raises:
        FieldError: a price without a rate to the plan's currency.
    """
    purse = purse_of(asked)
    servers = -(-gpus // _GPUS_PER_SERVER)
    drawn = _power(asked, gpu, gpus, servers)
    price, remarks = _gpu_price(asked, gpu, purse)
    has_price = price or asked.server_price or asked.cloud_price_per_hour or asked.tariff
    if drawn is None and not has_price:
        return Bill(cost=None, power=None)
    spec = CostSpec(
        currency=purse.currency,
        rates=purse.rates,
        gpus=gpus,
        servers=servers,
        gpu_price=price,
        server_price=purse.price(asked.server_price),
        tariff=purse.price(asked.tariff, abroad=False),
        cloud_price_per_hour=purse.price(asked.cloud_price_per_hour),
        depreciation_years=asked.depreciation_years,
        aggregate_tokens_per_s=aggregate_tokens_per_s,
    )
    plan = cost(spec, drawn)
    told = (*(drawn.assumptions if drawn else ()), *plan.assumptions)
    if has_price:
        told = (*purse.assumptions, *told)
    return Bill(cost=plan, power=drawn, assumptions=(*told, *remarks[0]), warnings=remarks[1])


def _power(asked: PlanAsked, gpu: GpuSpec | None, gpus: int, servers: int) -> PowerPlan | None:
    if asked.power_w is None and asked.gpu_power_w is None and gpu is None:
        return None
    return power(
        PowerSpec(
            gpus=gpus,
            servers=servers,
            power_w=asked.power_w,
            gpu_power_w=asked.gpu_power_w,
            gpu_tdp_w=None if gpu is None else gpu.tdp_w,
            gpu_cap_w=asked.gpu_cap_w,
            system_power_w=asked.system_power_w,
            pue=asked.pue,
            volts=asked.volts,
            rack_units_per_server=asked.rack_units,
        )
    )


def _gpu_price(
    asked: PlanAsked, gpu: GpuSpec | None, purse: Purse
) -> tuple[Money | None, tuple[tuple[Assumption, ...], tuple[Text, ...]]]:
    """The price given, else the catalogue's where it can be converted, with what to say of it."""
    if asked.gpu_price is not None or gpu is None or gpu.price is None:
        return purse.price(asked.gpu_price), ((), ())
    listed = Money(gpu.price.amount, gpu.price.currency)
    values = {"gpu": gpu.name, "price": f"{listed.amount:,.0f} {listed.currency}"}
    if not purse.converts(listed):
        return None, ((), (both("no_rate").fill(currency=purse.currency, **values),))
    text = both("assumed_gpu_price").fill(date=gpu.price.date, **values)
    return listed, ((Assumption(field="gpu_price", value=listed.amount, text=text),), ())


def _assumed(field: str, value: str) -> Assumption:
    return Assumption(field=field, value=value, text=both(f"assumed_{field}").fill(value=value))
