"""Other models of a route: only where it says so, never below its floor, in order."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.routing.fleets import engine, fleet, loads

from proa.domain.fleet import EngineState, FleetView
from proa.domain.request import RouteRequest
from proa.routing.decision import Choice, Refusal, RouteMatch
from proa.routing.router import Router
from proa.routing.spec import ModelSpec, RouteSpec, RoutingSpec

ASKED = RouteRequest(path="/v1/chat/completions", model="big")
AWAY = fleet(engine("main", "big", state=EngineState.UNREACHABLE), engine("aux", "small", "tiny"))
BOTH = fleet(engine("main", "big"), engine("aux", "small", "tiny"))


def router(view: FleetView, **route: object) -> Router:
    models = tuple(
        ModelSpec(name=n, quality=q) for n, q in (("big", 4.0), ("small", 3.0), ("tiny", 1.0))
    )
    spec = RouteSpec(name="r", **route)  # type: ignore[arg-type]
    return Router(RoutingSpec(routes=(spec,), models=models), view)


def found(view: FleetView, wanted: str = "big", **route: object) -> RouteMatch | Refusal:
    return router(view, **route).match(RouteRequest(path=ASKED.path, model=wanted))


def test_without_a_word_of_the_route_no_other_model_answers() -> None:
    refusal = found(AWAY)
    assert isinstance(refusal, Refusal)
    assert refusal.status == 503


def test_the_next_model_that_can_answer_is_taken_and_told() -> None:
    match = found(AWAY, fallback_models=("none", "small", "tiny"))
    assert isinstance(match, RouteMatch)
    assert (match.model, match.rewrites_model, match.pool) == ("small", True, (1,))
    assert match.choices[1].reason.endswith("via=any fallback=small")
    assert match.fallback is not None
    assert match.fallback.model == "tiny"


def test_the_floor_of_quality_holds_for_other_models() -> None:
    refusal = found(AWAY, fallback_models=("tiny", "small"), min_quality=3.5)
    assert isinstance(refusal, Refusal)
    match = found(AWAY, fallback_models=("tiny", "small"), min_quality=2.0)
    assert isinstance(match, RouteMatch)
    assert match.model == "small"
    assert match.fallback is None


def test_a_model_that_nobody_knows_is_the_clients_fault() -> None:
    refusal = found(BOTH, "typo", fallback_models=("small",))
    assert isinstance(refusal, Refusal)
    assert refusal.status == 404
    alias = found(BOTH, "typo", model="unheard", fallback_models=("small",))
    assert isinstance(alias, RouteMatch)
    assert alias.model == "small"


def test_a_failed_or_ejected_first_model_gives_way() -> None:
    built = router(BOTH, fallback_models=("small",))
    match = built.match(ASKED)
    assert isinstance(match, RouteMatch)
    assert match.model == "big"
    for shares, excluded in (((0.0, 1.0), ()), ((1.0, 1.0), (0,))):
        refusal = built.choose(
            match, ASKED, loads([0, 0], shares), excluded=excluded, rng=Random(0)
        )
        assert isinstance(refusal, Refusal)
        assert refusal.code == "no_engine_left"
        assert match.fallback is not None
        choice = built.choose(
            match.fallback, ASKED, loads([0, 0], shares), excluded=excluded, rng=Random(0)
        )
        assert isinstance(choice, Choice)
        assert choice.engine == "aux"


@given(
    fallbacks=st.lists(st.sampled_from(["big", "small", "tiny", "none"]), unique=True),
    floor=st.sampled_from([None, 0.0, 2.0, 3.5, 5.0]),
    view=st.sampled_from([AWAY, BOTH]),
)
def test_every_model_of_a_chain_is_allowed_good_and_served(
    fallbacks: list[str], floor: float | None, view: FleetView
) -> None:
    match = found(view, fallback_models=tuple(fallbacks), min_quality=floor)
    seen: list[str | None] = []
    while isinstance(match, RouteMatch):
        assert match.model in ["big", *fallbacks]
        assert floor is None or {"big": 4.0, "small": 3.0, "tiny": 1.0}[match.model] >= floor
        assert match.pool
        assert all(view.engines[i].state.takes_traffic for i in match.pool)
        seen.append(match.model)
        if match.fallback is None:
            break
        match = match.fallback
    assert seen == [m for m in dict.fromkeys(["big", *fallbacks]) if m in seen]
    assert len(set(seen)) == len(seen)
