"""Other ways: the same need on other GPUs, and more speed for money in one table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from proa.cli.plan.asked import AlternativeAsked, PlanAsked
from proa.cli.plan.money import Purse, purse_of
from proa.cli.plan.place import Seat, seat_of
from proa.cli.plan.subject import catalogue_of, gpu_of
from proa.domain.gpu import GpuSpec
from proa.errors import InputError
from proa.planner.money import alternatives as ways
from proa.planner.money.cost import converted
from proa.planner.text import Text
from proa.units import Money

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from proa.catalog.user_rows import Catalogue

Json = dict[str, Any]
USUAL_GPUS = (
    "l40s-48gb",
    "rtx-pro-6000-96gb",
    "a100-80gb",
    "h100-80gb",
    "h200-141gb",
    "b200-180gb",
)
"""What is tried beside the GPU that was named, and where none was."""

_MONTHS = 36


def other_seats(asked: PlanAsked, seat: Seat) -> list[Seat]:
    """The same need on the usual GPUs, as many of each as it takes, in one stage each."""
    free = msgspec.structs.replace(asked, gpus=None, tp=None, pp=1, link=None)
    seats = [seat]
    for name in USUAL_GPUS:
        if name == seat.gpu.id:
            continue
        try:
            found = seat_of(free, seat.subject, gpu_of(name), seat.spec.need)
        except InputError:
            continue
        if found.plan is not None and found.plan.meets:
            seats.append(found)
    return [each for each in seats if each.plan is not None]


def seats_document(asked: PlanAsked, seats: list[Seat]) -> list[Json]:
    """Count, layout, speed and price on each GPU; nothing where there is nothing to compare."""
    purse = purse_of(asked)
    rows = [_seat_row(asked, purse, each) for each in seats if each.plan is not None]
    others = [each for each in rows if each["gpu"] != seats[0].gpu.id]
    return rows if others else []


def alternatives_document(
    asked: PlanAsked, gpu: GpuSpec | None, speed: float | None, gpus: int, language: str
) -> Json | None:
    """Another main GPU, the auxiliary ones asked for, the cloud, and nothing.

    Raises:
        FieldError: a price without a rate to the plan's currency.
    """
    purse = purse_of(asked)
    main = _main(asked, purse, gpu, speed, gpus)
    rows = catalogue_of(asked)
    others = [_option(each, purse, rows) for each in asked.alternatives]
    if not others and (main is None or asked.cloud_price_per_hour is None):
        return None
    options = [*([main] if main else []), *others, *_cloud(asked, purse, speed, gpus)]
    options.append(ways.OptionSpec(key="nothing", name=ways.NOTHING))
    months = round(asked.depreciation_years * 12) if asked.depreciation_years else _MONTHS
    table = ways.alternatives(
        ways.AlternativesSpec(
            options=options,
            currency=purse.currency,
            rates=purse.rates,
            tariff=purse.price(asked.tariff, abroad=False),
            pue=asked.pue or 1.0,
            months=months,
        )
    )
    bought = [each for each in others if each.price is not None and each.tokens_per_s]
    joined = None
    if main is not None and bought and main.price is not None:
        joined = msgspec.to_builtins(ways.pair(main, bought[0], purse.currency, purse.rates))
    return {
        "currency": purse.currency,
        "months": months,
        "rows": [_told(row, language) for row in table],
        "pair": joined,
    }


def _main(
    asked: PlanAsked, purse: Purse, gpu: GpuSpec | None, speed: float | None, gpus: int
) -> ways.OptionSpec | None:
    """One more of the GPUs that the plan has, as fast as each of them."""
    price = purse.price(asked.gpu_price) or (_listed(gpu, purse) if gpu else None)
    if price is None or not speed:
        return None
    watts = asked.gpu_power_w or (gpu.tdp_w if gpu else 0.0)
    return ways.OptionSpec(
        key="second_main",
        name=ways.SECOND_MAIN,
        tokens_per_s=speed / gpus,
        price=price,
        power_w=watts,
    )


def _option(asked: AlternativeAsked, purse: Purse, rows: "Catalogue | None") -> ways.OptionSpec:
    gpu = None if asked.gpu is None else gpu_of(asked.gpu, "alternatives.gpu", rows)
    count = asked.gpus or 1
    price = _priced(asked, asked.gpu_price, purse) or (_listed(gpu, purse) if gpu else None)
    server = _priced(asked, asked.server_price, purse)
    if price is not None:
        price = Money(price.amount * count, price.currency)
    if price is not None and server is not None:
        amounts = (converted("gpu_price", m, purse.currency, purse.rates) for m in (price, server))
        price = Money(float(sum(amounts)), purse.currency)
    watts = asked.power_w if asked.power_w is not None else (gpu.tdp_w * count if gpu else 0.0)
    return ways.OptionSpec(
        key=asked.name,
        name=Text(asked.name, asked.name),
        tokens_per_s=asked.aggregate_tokens_per_s or 0.0,
        price=price or server,
        price_per_hour=_priced(asked, asked.cloud_price_per_hour, purse),
        power_w=watts,
    )


def _cloud(
    asked: PlanAsked, purse: Purse, speed: float | None, gpus: int
) -> Iterator[ways.OptionSpec]:
    if asked.cloud_price_per_hour is not None:
        yield ways.OptionSpec(
            key="cloud",
            name=ways.CLOUD,
            tokens_per_s=(speed or 0.0) / gpus,
            price_per_hour=purse.price(asked.cloud_price_per_hour),
        )


def _priced(asked: AlternativeAsked, money: Money | None, purse: Purse) -> Money | None:
    if money is not None and not money.currency and asked.currency is not None:
        return Money(money.amount, asked.currency)
    return purse.price(money)


def _listed(gpu: GpuSpec, purse: Purse) -> Money | None:
    """The catalogue's price, where it can be converted."""
    if gpu.price is None:
        return None
    listed = Money(gpu.price.amount, gpu.price.currency)
    return listed if purse.converts(listed) else None


def _seat_row(asked: PlanAsked, purse: Purse, seat: Seat) -> Json:
    plan = seat.plan
    assert plan is not None
    own = seat.gpu.id == (asked.gpu or "").casefold()
    price = (purse.price(asked.gpu_price) if own else None) or _listed(seat.gpu, purse)
    amount = None
    if price is not None:
        amount = float(converted("gpu_price", price, purse.currency, purse.rates)) * plan.gpus
    return {
        "gpu": plan.gpu,
        "gpus": plan.gpus,
        "tensor_parallel": plan.tensor_parallel,
        "pipeline_parallel": plan.pipeline_parallel,
        "replicas": plan.replicas,
        "max_sessions": plan.max_sessions,
        "user_tokens_per_s": plan.performance.user_tokens_per_s,
        "ttft_p95_s": plan.performance.ttft_p95_s,
        "binding": plan.binding.value,
        "power_w": seat.gpu.tdp_w * plan.gpus,
        "currency": purse.currency,
        "price": amount,
    }


def _told(row: ways.AlternativeRow, language: str) -> Json:
    told = msgspec.structs.asdict(row)
    told["name"] = row.name.say(language)
    return told
