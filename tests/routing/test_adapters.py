"""Where adapters go: never more than an engine holds, hot ones stay, queues stay even (G83)."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.routing.adapters import AdapterBook
from proa.routing.spec import AdapterSpec

NAMES = tuple(f"lora-{number}" for number in range(10))
SPECS = {name: AdapterSpec(name=name, model="base", path=f"/a/{name}") for name in NAMES}


def book(*engines: str) -> AdapterBook:
    made = AdapterBook()
    made.know((), SPECS)
    made.loaded.update({engine: set() for engine in engines})
    return made


@given(
    asked=st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.dictionaries(st.sampled_from("abc"), st.integers(0, 40), min_size=1),
        ),
        max_size=60,
    ),
    most=st.integers(1, 4),
)
def test_orders_keep_every_engine_within_its_places(
    asked: list[tuple[str, dict[str, int]]], most: int
) -> None:
    made = book("a", "b", "c")
    held: dict[str, set[str]] = {engine: set() for engine in "abc"}
    for adapter, queues in asked:
        engine = made.place(adapter, dict(queues), most)
        assert engine in queues
        for order in made.orders:
            if order.unload is not None:
                held[order.engine].remove(order.unload)
            assert order.load.name not in held[order.engine]
            held[order.engine].add(order.load.name)
        made.orders.clear()
        assert adapter in held[engine]
        assert all(len(each) <= most for each in held.values())
        assert held == made.loaded


def test_a_warm_engine_is_taken_unless_it_is_crowded() -> None:
    made = book("a", "b")
    made.loaded["a"].add("lora-0")
    assert made.place("lora-0", {"a": 7, "b": 2}, 4) == "a"
    assert made.orders == []
    assert made.place("lora-0", {"a": 30, "b": 2}, 4) == "b"
    assert [(o.engine, o.load.name, o.unload) for o in made.orders] == [("b", "lora-0", None)]


def test_the_least_used_goes_and_what_was_started_with_stays() -> None:
    made = book("a")
    made.loaded["a"] = {"fixed"}
    for name, times in (("lora-0", 5), ("lora-1", 2), ("lora-2", 9)):
        for _ in range(times):
            made.place(name, {"a": 0}, 4)
    made.orders.clear()
    made.place("lora-3", {"a": 0}, 4)
    assert made.orders[0].unload == "lora-1"
    assert "fixed" in made.loaded["a"]


def simulated(weights: list[float], *, load: float, seed: int) -> tuple[float, float]:
    """Reloads per request after 200 requests, and the ratio of the mean queues, of two engines.

    Poisson arrivals at `load` of the capacity; each engine serves up to 16 requests at
    once, each for an exponential time.
    """
    rng, made, requests = Random(seed), book("a", "b"), 3000
    queues, area, reloads, served = {"a": 0, "b": 0}, {"a": 0.0, "b": 0.0}, 0, 0
    while served < requests:
        rates = [load * 32.0, *(float(min(n, 16)) for n in queues.values())]
        passed = rng.expovariate(sum(rates))
        for engine, queue in queues.items():
            area[engine] += queue * passed
        event = rng.choices(range(3), rates)[0]
        if event == 0:
            engine = made.place(rng.choices(NAMES, weights)[0], dict(queues), 4)
            queues[engine] += 1
            served += 1
            reloads += len(made.orders) * (served > 200)
            made.orders.clear()
        else:
            queues["ab"[event - 1]] -= 1
    return reloads / (requests - 200), max(area.values()) / min(area.values())


@pytest.mark.parametrize("load", [0.5, 0.75, 0.9])
@pytest.mark.parametrize("seed", [1, 2])
def test_g83_skewed_adapters_neither_pile_up_nor_storm(load: float, seed: int) -> None:
    """Ten adapters, each half as much used as the one before, on two engines of four places."""
    reloads, ratio = simulated([0.5**n for n in range(10)], load=load, seed=seed)
    assert reloads < 0.02
    assert ratio < 2.0


def test_g83_a_long_tail_costs_what_its_misses_cost() -> None:
    """By 1/n² the six coldest of ten share 4 places: 3 % of requests cannot be warm for all."""
    reloads, ratio = simulated([1 / (n + 1) ** 2 for n in range(10)], load=0.75, seed=1)
    assert reloads < 0.05
    assert ratio < 2.0
