"""Erlang C against published tables, the sum that defines it, and for many servers."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.errors import FieldError
from proa.planner.demand.queueing import QueueSpec, mean_wait_s, servers_for_wait, wait_probability


@pytest.mark.parametrize(
    ("servers", "load", "wanted"),
    [
        # One server waits as long as it is busy: C(1, a) = a.
        (1, 0.8, 0.8),
        # C(2, a) = a^2 / (2 + a): Gross and Harris, Fundamentals of Queueing Theory, section 2.3.
        (2, 1.0, 1 / 3),
        # 10 Erlang and 14 agents: 17.4 %, https://www.callcentrehelper.com/erlang-c-formula-example-121281.htm
        (14, 10.0, 0.1741),
        (11, 10.0, 0.6821),
    ],
)
def test_the_share_that_waits_is_that_of_the_tables(
    servers: int, load: float, wanted: float
) -> None:
    assert wait_probability(servers, load) == pytest.approx(wanted, abs=5e-5)


def defined(servers: int, load: Fraction) -> Fraction:
    """Erlang C as it is written in textbooks, in exact numbers."""
    top = load**servers / math.factorial(servers) * servers / (servers - load)
    below = sum(load**k / math.factorial(k) for k in range(servers))
    return top / (below + top)


@given(servers=st.integers(1, 60), share=st.fractions(Fraction(1, 100), Fraction(99, 100)))
@settings(max_examples=20)
def test_the_recursion_is_the_definition(servers: int, share: Fraction) -> None:
    load = servers * share.limit_denominator(100)
    wanted = float(defined(servers, load))
    assert wait_probability(servers, float(load)) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


def test_the_mean_wait_of_one_server_is_that_of_m_m_1() -> None:
    # W = rho / (mu - lambda) with mu = 1/2 s, lambda = 0.4/s.
    assert mean_wait_s(1, 0.8, 2.0) == pytest.approx(0.8 / (0.5 - 0.4))


def test_servers_that_cannot_keep_up_let_all_wait_for_ever() -> None:
    assert wait_probability(8, 8.0) == 1.0
    assert mean_wait_s(8, 9.0, 20.0) == math.inf


def test_the_worked_example_of_the_call_centre() -> None:
    # 100 calls in 30 min of 3 min each, 80 % answered within 20 s: 14 agents, ASA 7.8 s.
    spec = QueueSpec(
        requests_per_s=100 / 1800, seconds_per_request=180, max_wait_share=0.2, max_wait_s=20
    )
    plan = servers_for_wait(spec)
    assert plan.servers == 14
    assert 1 - plan.late_share == pytest.approx(0.888, abs=5e-4)
    assert plan.mean_wait_s == pytest.approx(7.8, abs=0.05)
    assert plan.utilisation == pytest.approx(10 / 14)


@given(
    load=st.floats(0.01, 300),
    share=st.floats(0.001, 0.9),
    limit_s=st.floats(0, 30),
)
@settings(max_examples=40)
def test_one_place_fewer_would_break_the_limit(load: float, share: float, limit_s: float) -> None:
    spec = QueueSpec(
        requests_per_s=load / 20, seconds_per_request=20, max_wait_share=share, max_wait_s=limit_s
    )
    plan = servers_for_wait(spec)
    assert plan.servers > plan.offered_erlangs
    assert plan.late_share <= share
    fewer, offered = plan.servers - 1, plan.offered_erlangs
    if fewer > offered:
        late = wait_probability(fewer, offered) * math.exp(-(fewer - offered) * limit_s / 20)
        assert late > share


def test_a_hundred_thousand_sessions_are_no_trouble() -> None:
    spec = QueueSpec(requests_per_s=5000, seconds_per_request=20, max_wait_share=0.01)
    plan = servers_for_wait(spec)
    # Halfin and Whitt 1981: c = a + beta sqrt(a), C = 1 / (1 + beta Phi(beta) / phi(beta)),
    # and for C = 0.01 beta is 2.375.
    assert plan.servers == pytest.approx(100_000 + 2.375 * math.sqrt(100_000), abs=2)
    assert wait_probability(200_000, 100_000.0) == 0.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("requests_per_s", 0),
        ("seconds_per_request", -1),
        ("max_wait_share", 0),
        ("max_wait_share", 1),
        ("max_wait_s", -0.1),
        ("requests_per_s", 1.1e7),
    ],
)
def test_a_queue_that_cannot_be_is_refused(field: str, value: float) -> None:
    given_values = {"requests_per_s": 1.0, "seconds_per_request": 1.0, "max_wait_share": 0.1}
    with pytest.raises(FieldError) as refused:
        servers_for_wait(QueueSpec(**given_values | {field: value}))
    assert refused.value.field == field
