"""A second main GPU, an auxiliary one, the cloud or nothing, in one table and one currency."""

import pytest

from proa.errors import FieldError
from proa.planner.money.alternatives import (
    AUXILIARY,
    CLOUD,
    NOTHING,
    SECOND_MAIN,
    AlternativesSpec,
    OptionSpec,
    alternatives,
    pair,
)
from proa.units import Money

MAIN = OptionSpec(
    key="second_main", name=SECOND_MAIN, tokens_per_s=1582, price=Money(5000, "USD"), power_w=600
)
AUX = OptionSpec(
    key="auxiliary", name=AUXILIARY, tokens_per_s=760, price=Money(450, "USD"), power_w=200
)
RENTED = OptionSpec(
    key="cloud", name=CLOUD, tokens_per_s=1582, price_per_hour=Money(3, "USD"), hours_per_day=8
)
IDLE = OptionSpec(key="nothing", name=NOTHING)


def spec_of(**changes: object) -> AlternativesSpec:
    asked = {
        "options": (MAIN, AUX, RENTED, IDLE),
        "currency": "KRW",
        "rates": {"USD": 1350.0},
        "tariff": Money(120, "KRW"),
        "months": 12,
    }
    return AlternativesSpec(**asked | changes)  # type: ignore[arg-type]


def test_all_ways_stand_in_one_currency() -> None:
    main, aux, cloud, nothing = alternatives(spec_of())
    assert (main.price, aux.price, cloud.price, nothing.price) == (6_750_000, 607_500, 0, 0)
    assert aux.electricity_per_month == 17_280
    assert aux.total == 607_500 + 12 * 17_280
    assert cloud.rent_per_month == 3 * 1350 * 8 * 30
    assert cloud.total == 12 * cloud.rent_per_month
    assert (nothing.total, nothing.per_tokens_per_s, nothing.per_million_tokens) == (0, None, None)
    assert cloud.per_tokens_per_s is None
    assert aux.per_million_tokens == pytest.approx(aux.total / (760 * 3600 * 24 * 360 / 1e6))


def test_a_draw_without_a_tariff_has_no_total() -> None:
    main, _, cloud, _ = alternatives(spec_of(tariff=None))
    assert (main.electricity_per_month, main.total, main.per_million_tokens) == (None, None, None)
    assert cloud.total is not None


def test_the_pair_of_the_worked_example() -> None:
    both = pair(MAIN, AUX, "USD", {})
    assert both.main_per_tokens_per_s == pytest.approx(3.16, abs=5e-3)
    assert both.auxiliary_per_tokens_per_s == pytest.approx(0.59, abs=5e-3)
    assert 5.3 < both.price_ratio < 5.4
    assert (both.tokens_per_s, both.price) == (2342, 5450)
    assert both.price_share == pytest.approx(0.09)
    assert both.speed_share == pytest.approx(0.48, abs=5e-3)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rates": {}}, "price"),
        ({"months": 0}, "months"),
        ({"pue": 0.5}, "pue"),
        ({"options": (OptionSpec(key="x", name=CLOUD, hours_per_day=25),)}, "hours_per_day"),
        ({"options": (OptionSpec(key="x", name=CLOUD, tokens_per_s=-1),)}, "tokens_per_s"),
    ],
)
def test_a_table_that_cannot_be_is_refused(changes: dict[str, object], field: str) -> None:
    with pytest.raises(FieldError) as refused:
        alternatives(spec_of(**changes))
    assert refused.value.field == field


def test_a_pair_needs_prices_and_speeds() -> None:
    for wrong in (RENTED, IDLE):
        with pytest.raises(FieldError, match="price"):
            pair(MAIN, wrong, "USD", {})
