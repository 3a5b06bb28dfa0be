"""The context guard: a prompt goes nowhere where it cannot fit, and first where it surely does."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.routing.fleets import CARD, engine, fleet

from proa.domain.fleet import EngineView, ModelView
from proa.domain.request import RouteRequest
from proa.routing.context import narrowed
from proa.routing.decision import Refusal, RouteMatch
from proa.routing.router import Router
from proa.routing.spec import RouteSpec, RoutingSpec

CHAT = "/v1/chat/completions"


def sized(name: str, context: int | None, model: str = "m") -> EngineView:
    models = (ModelView(model, CARD, context_tokens=context),)
    return msgspec.structs.replace(engine(name), models=models)


def match(*contexts: int | None, route: RouteSpec | None = None) -> RouteMatch:
    view = fleet(*(sized(f"e{i}", context) for i, context in enumerate(contexts)))
    built = Router(RoutingSpec(routes=(route,) if route else ()), view)
    found = built.match(RouteRequest(path=CHAT, model="m"))
    assert isinstance(found, RouteMatch)
    return found


def asked(tokens: int | None, max_tokens: int | None = None) -> RouteRequest:
    return RouteRequest(path=CHAT, model="m", input_tokens=tokens, max_tokens=max_tokens)


def pool(found: RouteMatch | Refusal) -> tuple[int, ...]:
    assert isinstance(found, RouteMatch), found
    return found.pool


def test_an_engine_is_left_out_when_the_prompt_does_not_surely_fit() -> None:
    two = match(1000, 4000)
    assert two.least_context_tokens == 1000
    assert narrowed(two, asked(500)) is two
    assert pool(narrowed(two, asked(900))) == (1,)
    assert pool(narrowed(two, asked(500, max_tokens=800))) == (1,)
    assert pool(narrowed(two, asked(500, max_tokens=9000))) == (0, 1)  # the answer is cut, or 400


def test_what_may_fit_is_tried_where_nothing_larger_is() -> None:
    assert pool(narrowed(match(1000, 1000), asked(1100))) == (0, 1)
    assert pool(narrowed(match(1000, 1100), asked(1200))) == (1,)


def test_what_fits_nowhere_is_refused_in_openai_terms() -> None:
    refusal = narrowed(match(1000, 4000), asked(5000))
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.code) == (400, "context_length_exceeded")
    assert "about 5000 tokens" in refusal.message
    assert "4000 tokens" in refusal.message


def test_unknown_contexts_and_unknown_prompts_narrow_nothing() -> None:
    assert match(None, None).least_context_tokens is None
    assert pool(narrowed(match(1000, None), asked(5000))) == (1,)
    assert pool(narrowed(match(1000, 4000), asked(None))) == (0, 1)


def test_an_adapter_has_the_context_of_its_base_model() -> None:
    models = (ModelView("m", CARD, 1000), ModelView("law", CARD, None, "m"))
    view = fleet(msgspec.structs.replace(engine("a"), models=models))
    found = Router(RoutingSpec(), view).match(RouteRequest(path=CHAT, model="law"))
    assert isinstance(found, RouteMatch)
    assert found.contexts == {0: 1000}


def test_preferences_hold_among_those_that_fit() -> None:
    route = RouteSpec(name="r", prefer=("e0",), overflow=("e1",))
    assert match(1000, 4000, route=route).preferred == (0,)
    fits = narrowed(match(1000, 4000, route=route), asked(2000))
    assert isinstance(fits, RouteMatch)
    assert (fits.pool, fits.preferred) == ((1,), ())


def test_a_prompt_too_long_for_the_model_goes_to_the_routes_next_one() -> None:
    view = fleet(sized("a", 1000), sized("b", 9000, "large"))
    route = RouteSpec(name="r", fallback_models=("large",))
    found = Router(RoutingSpec(routes=(route,)), view).match(asked(None))
    assert isinstance(found, RouteMatch)
    fits = narrowed(found, asked(5000))
    assert isinstance(fits, RouteMatch)
    assert (fits.model, fits.pool, fits.rewrites_model) == ("large", (1,), True)


@given(
    contexts=st.lists(st.integers(1, 9000) | st.none(), min_size=1, max_size=5),
    true_tokens=st.integers(1, 9000),
    error=st.floats(-0.149, 0.149),
    max_tokens=st.integers(1, 4000) | st.none(),
)
def test_no_prompt_goes_where_it_cannot_fit_if_it_fits_somewhere(
    contexts: list[int | None], true_tokens: int, error: float, max_tokens: int | None
) -> None:
    found = match(*contexts)
    answer = narrowed(found, asked(round(true_tokens * (1 + error)) or 1, max_tokens))
    room = true_tokens + (max_tokens or 0)
    surely = [c for c in contexts if c is None or c >= 1.4 * room + 2]
    if isinstance(answer, Refusal):
        assert all(c is not None and c <= true_tokens + 1 for c in contexts)
    elif surely:
        assert all(c is None or c >= true_tokens for i in answer.pool for c in [contexts[i]])
