"""The bill: the worked example, one currency, and when it pays."""

from pathlib import Path

import pytest

from proa.errors import FieldError
from proa.planner.money.cost import CostPlan, CostSpec, cost
from proa.planner.money.power import PowerSpec, power
from proa.units import Money, format_money

GOLDEN = Path(__file__).with_name("golden")
OFFICE = power(PowerSpec(gpu_power_w=120, system_power_w=80))
WON_PER_DOLLAR = {"USD": 1350.0}


def bill(**changes: object) -> CostPlan:
    spec = {
        "currency": "KRW",
        "rates": WON_PER_DOLLAR,
        "gpu_price": Money(450, "USD"),
        "tariff": Money(120, "KRW"),
        "cloud_price_per_hour": Money(3, "USD"),
        "depreciation_years": 5,
    }
    return cost(CostSpec(**spec | changes), OFFICE)  # type: ignore[arg-type]


def test_electricity_of_the_worked_example() -> None:
    plan = bill()
    assert (plan.power_w, plan.kwh_per_month) == (200, 144)
    assert plan.electricity_per_month == 17_280
    assert plan.electricity_per_year == 207_360
    # Less than three days of a cloud GPU at $3/h ($216 are 291,600 won).
    assert plan.cloud_per_day == 72 * 1350
    assert plan.electricity_per_year < 3 * plan.cloud_per_day == 291_600
    assert plan.electricity_in_cloud_days == pytest.approx(2.133, abs=5e-4)


def test_cloud_of_the_worked_example() -> None:
    plan = bill(currency="USD", rates={"KRW": 1 / 1350})
    assert (plan.cloud_per_day, plan.cloud_per_month) == (72, 2160)


def test_dollars_per_token_per_second_of_the_two_cards() -> None:
    main, auxiliary = (
        cost(
            CostSpec(currency="USD", gpu_price=Money(price, "USD"), aggregate_tokens_per_s=speed),
            None,
        ).per_tokens_per_s
        for price, speed in ((5000, 1582), (450, 760))
    )
    assert main is not None
    assert auxiliary is not None
    assert format_money(Money(main, "USD")) == "$3.16"
    assert format_money(Money(auxiliary, "USD")) == "$0.592"
    assert round(auxiliary, 2) == 0.59
    assert 5.3 < main / auxiliary < 5.4


@pytest.mark.parametrize("language", ["ko", "en"])
def test_every_line_shows_the_numbers_put_in(language: str) -> None:
    plan = bill(aggregate_tokens_per_s=760, server_price=Money(900_000, "KRW"))
    lines = [step.line(language) for step in plan.steps]
    golden = GOLDEN / f"cost.{language}.txt"
    assert "\n".join(lines) + "\n" == golden.read_text(encoding="utf-8")


def test_hardware_is_gpus_and_servers() -> None:
    plan = bill(gpus=8, servers=2, server_price=Money(10_000, "USD"))
    assert plan.hardware == (8 * 450 + 2 * 10_000) * 1350
    assert plan.depreciation_per_month == pytest.approx(plan.hardware / 60)


def test_tokens_cost_depreciation_and_electricity() -> None:
    plan = bill(aggregate_tokens_per_s=760, busy_share=0.5)
    # (450 x 1,350 / 60 + 17,280) won over 760 x 0.5 x 3,600 x 24 x 30 tokens.
    assert plan.per_million_tokens == pytest.approx(27_405 / 984.96)
    assert [told.field for told in bill(aggregate_tokens_per_s=1).assumptions] == ["busy_share"]
    assert [told.field for told in bill(depreciation_years=None).assumptions] == [
        "depreciation_years"
    ]


def test_break_even_is_hardware_over_what_is_saved() -> None:
    plan = bill(gpu_price=Money(5000, "USD"))
    assert plan.break_even_months == pytest.approx(5000 * 1350 / (2160 * 1350 - 17_280))
    assert (plan.break_even.en, plan.break_even.ko) == ("paid back in month 3", "3개월째에 회수")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"cloud_price_per_hour": Money(0.01, "USD")}, "never: electricity alone costs as much"),
        ({"cloud_price_per_hour": None}, "not reckoned: no price of the cloud"),
        ({"gpu_price": None}, "not reckoned: no price of the hardware"),
        ({"tariff": None}, "not reckoned: no price of electricity"),
    ],
)
def test_a_break_even_that_never_comes_says_why(changes: dict[str, object], why: str) -> None:
    plan = bill(**changes)
    assert plan.break_even_months is None
    assert plan.break_even.en.startswith(why)
    assert "break_even_months" not in {step.key for step in plan.steps}


def test_what_has_no_price_is_none_and_never_zero() -> None:
    plan = cost(CostSpec(currency="KRW"), None)
    amounts = [
        plan.hardware, plan.power_w, plan.kwh_per_month, plan.electricity_per_month,
        plan.electricity_per_year, plan.depreciation_per_month, plan.per_tokens_per_s,
        plan.per_million_tokens, plan.cloud_per_day, plan.cloud_per_month,
        plan.electricity_in_cloud_days, plan.break_even_months,
    ]  # fmt: skip
    assert amounts == [None] * len(amounts)
    assert plan.steps == ()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rates": {}}, "gpu_price"),
        ({"rates": {"USD": 0}}, "exchange_rate"),
        ({"currency": "WON"}, "currency"),
        ({"tariff": Money(-1, "KRW")}, "tariff"),
        ({"depreciation_years": 0}, "depreciation_years"),
        ({"aggregate_tokens_per_s": 0}, "aggregate_tokens_per_s"),
        ({"busy_share": 2, "aggregate_tokens_per_s": 1}, "busy_share"),
        ({"gpus": 0}, "gpus"),
        ({"cloud_gpus": 0}, "cloud_gpus"),
    ],
)
def test_a_bill_that_cannot_be_is_refused(changes: dict[str, object], field: str) -> None:
    with pytest.raises(FieldError) as refused:
        bill(**changes)
    assert refused.value.field == field


def test_a_currency_without_a_rate_is_told_with_the_rate_that_is_wanted() -> None:
    with pytest.raises(FieldError, match="exchange_rate with the price of one USD"):
        bill(rates={})
