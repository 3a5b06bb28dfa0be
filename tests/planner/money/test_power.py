"""Watts, energy, heat and current."""

import pytest

from proa.errors import FieldError
from proa.planner.money.power import PowerSpec, power


def test_the_worked_example_draws_144_kwh_a_month() -> None:
    plan = power(PowerSpec(gpu_power_w=120, system_power_w=80))
    assert (plan.power_w, plan.kwh_per_month, plan.kwh_per_year) == (200, 144, 1728)
    # 200 W x 3.412142 BTU/h per W; 200 W at 220 V.
    assert plan.btu_per_hour == pytest.approx(682.4, abs=0.05)
    assert plan.amperes == pytest.approx(0.909, abs=5e-4)
    assert plan.rack_units is None
    assert [told.field for told in plan.assumptions] == ["pue", "volts"]


def test_the_room_adds_its_share() -> None:
    plan = power(PowerSpec(power_w=1000, pue=1.5, volts=230))
    assert (plan.power_w, plan.facility_w, plan.kwh_per_month) == (1000, 1500, 1080)
    assert (plan.gpu_power_w, plan.system_power_w, plan.assumptions) == (None, None, ())


def test_a_cap_and_idle_time_lower_the_mean_but_not_the_peak() -> None:
    spec = PowerSpec(
        gpus=8, gpu_tdp_w=700, gpu_cap_w=500, gpu_idle_w=100, load_share=0.25, system_power_w=2000
    )
    plan = power(spec)
    assert plan.gpu_power_w == 200
    assert (plan.power_w, plan.peak_w) == (8 * 200 + 2000, 8 * 500 + 2000)
    assert plan.amperes == pytest.approx(6000 / 220)


def test_without_an_idle_draw_a_gpu_draws_in_full() -> None:
    plan = power(PowerSpec(gpu_tdp_w=300, load_share=0.1, system_power_w=0))
    assert plan.power_w == 300


def test_a_server_without_a_number_is_assumed_and_told() -> None:
    plan = power(PowerSpec(gpus=8, servers=2, gpu_tdp_w=700, pue=1, volts=220))
    assert plan.system_power_w == 1400
    assert plan.power_w == 8 * 700 + 2 * 1400
    (told,) = plan.assumptions
    assert told.field == "system_power_w"
    assert "1,400 W" in told.text.en
    assert power(PowerSpec(gpu_tdp_w=70)).system_power_w == 80


def test_servers_take_their_height() -> None:
    assert power(PowerSpec(servers=3, power_w=9000, rack_units_per_server=8)).rack_units == 24


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"gpu_power_w": None}, "gpu_power_w"),
        ({"gpu_power_w": -1}, "gpu_power_w"),
        ({"power_w": 0}, "power_w"),
        ({"pue": 0.9}, "pue"),
        ({"gpus": 0}, "gpus"),
        ({"volts": 0}, "volts"),
        ({"gpu_power_w": None, "gpu_tdp_w": 300, "load_share": 1.1}, "load_share"),
        ({"system_power_w": -80}, "system_power_w"),
        ({"rack_units_per_server": 0}, "rack_units_per_server"),
    ],
)
def test_power_that_cannot_be_is_refused(changes: dict[str, float | None], field: str) -> None:
    with pytest.raises(FieldError) as refused:
        power(PowerSpec(**{"gpu_power_w": 120.0} | changes))  # type: ignore[arg-type]
    assert refused.value.field == field
