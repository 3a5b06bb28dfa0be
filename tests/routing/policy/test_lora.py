"""The policy `lora`: to the adapter, with what must be loaded; others to where they end first."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.routing.fleets import engine, fleet, loads

from proa.domain.request import RouteRequest
from proa.routing.decision import Choice, Refusal, RouteMatch
from proa.routing.policy.base import PolicyMemory
from proa.routing.router import Router
from proa.routing.spec import AdapterSpec, PolicyName, RouteSpec, RoutingSpec

CHAT = "/v1/chat/completions"
ADAPTERS = tuple(AdapterSpec(name=n, model="base", path=f"/a/{n}") for n in ("law", "med"))
SPEC = RoutingSpec(policy=PolicyName.LORA, adapters=ADAPTERS)
TWO = fleet(engine("a", "base"), engine("b", "base"))


def choose(
    built: Router, model: str, in_flight: list[int], excluded: tuple[int, ...] = ()
) -> Choice | Refusal:
    request = RouteRequest(path=CHAT, model=model)
    match = built.match(request)
    assert isinstance(match, RouteMatch)
    return built.choose(match, request, loads(in_flight), excluded=excluded, rng=Random(0))


def index_of(choice: Choice | Refusal) -> int:
    assert isinstance(choice, Choice)
    return choice.index


def test_an_adapter_is_ordered_once_and_then_stays() -> None:
    memory = PolicyMemory()
    built = Router(SPEC, TWO, memory)
    assert index_of(choose(built, "law", [3, 0])) == 1
    (order,) = memory.adapters.orders
    assert (order.engine, order.load.name, order.unload) == ("b", "law", None)
    assert index_of(choose(built, "law", [0, 4])) == 1
    assert len(memory.adapters.orders) == 1


def test_a_single_engine_is_asked_too() -> None:
    memory = PolicyMemory()
    assert index_of(choose(Router(SPEC, fleet(engine("a", "base")), memory), "law", [0])) == 0
    assert [order.engine for order in memory.adapters.orders] == ["a"]


def test_an_alias_is_the_adapter_that_goes_upstream() -> None:
    memory = PolicyMemory()
    route = RouteSpec(name="r", model="law")
    built = Router(
        RoutingSpec(routes=(route,), policy=PolicyName.LORA, adapters=ADAPTERS), TWO, memory
    )
    choose(built, "gpt-4o", [0, 0])
    assert [order.load.name for order in memory.adapters.orders] == ["law"]


def test_engines_without_the_base_model_never_load() -> None:
    view = fleet(engine("a", "other"), engine("b", "base"))
    match = Router(SPEC, view).match(RouteRequest(path=CHAT, model="law"))
    assert isinstance(match, RouteMatch)
    assert match.pool == (1,)


def test_another_policy_loads_nothing() -> None:
    built = Router(RoutingSpec(adapters=ADAPTERS), TWO)
    refusal = built.match(RouteRequest(path=CHAT, model="law"))
    assert isinstance(refusal, Refusal)
    assert refusal.status == 404


@given(
    asked=st.lists(
        st.tuples(st.sampled_from(["base", "law", "med"]), st.integers(0, 9), st.integers(0, 9)),
        max_size=30,
    )
)
def test_the_engine_has_or_is_told_to_load_what_is_asked(
    asked: list[tuple[str, int, int]],
) -> None:
    memory = PolicyMemory()
    built, names = Router(SPEC, TWO, memory), ("a", "b")
    for model, one, other in asked:
        index = index_of(choose(built, model, [one, other]))
        assert model == "base" or memory.adapters.is_warm(names[index], model)
    assert all(order.load.name in ("law", "med") for order in memory.adapters.orders)
