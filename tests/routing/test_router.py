"""Rules by table, fault cases of other gateways, and what must hold for any fleet."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.routing.fleets import engine, fleet, loads

from proa.domain.fleet import EngineKind, EngineState, EngineView, FleetView
from proa.domain.request import RouteRequest
from proa.routing.decision import Choice, Refusal, RouteMatch
from proa.routing.policy.base import PolicyMemory
from proa.routing.router import Router
from proa.routing.spec import (
    MatchSpec,
    ModelSpec,
    OverflowSpec,
    PolicyName,
    RouteSpec,
    RoutingSpec,
)

CHAT = "/v1/chat/completions"
ASKED = RouteRequest(path=CHAT)
TWO = fleet(engine("main", "small", "large"), engine("aux", "small"))


def router(*routes: RouteSpec, view: FleetView = TWO, **settings: object) -> Router:
    models = (ModelSpec(name="small", quality=3.0), ModelSpec(name="large", quality=4.0))
    return Router(RoutingSpec(routes=routes, models=models, **settings), view)  # type: ignore[arg-type]


def choose(
    built: Router,
    request: RouteRequest,
    in_flight: tuple[int, ...] = (0, 0),
    shares: tuple[float, ...] = (1.0, 1.0),
    excluded: tuple[int, ...] = (),
    seed: int = 0,
) -> Choice | Refusal:
    match = built.match(request)
    if isinstance(match, Refusal):
        return match
    return built.choose(
        match, request, loads(in_flight, shares), excluded=excluded, rng=Random(seed)
    )


def chosen(
    built: Router,
    request: RouteRequest,
    *,
    shares: tuple[float, ...] = (1.0, 1.0),
    in_flight: tuple[int, ...] = (0, 0),
    excluded: tuple[int, ...] = (),
    seeds: int = 40,
) -> set[str]:
    """Names that come out over many seeds."""
    names = set()
    for seed in range(seeds):
        choice = choose(built, request, in_flight, shares, excluded, seed)
        assert isinstance(choice, Choice), choice
        names.add(choice.engine)
    return names


def request(path: str = CHAT, **facts: object) -> RouteRequest:
    return RouteRequest(path=path, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("match", "facts", "holds"),
    [
        ({}, {}, True),
        ({"path": "/api/faq"}, {"path": "/api/faq"}, True),
        ({"path": "/api/faq"}, {"path": "/api/faq/"}, False),
        ({"path": "/api/*"}, {"path": "/api/faq"}, True),
        ({"path": "/api/*"}, {"path": "/ap"}, False),
        ({"path": "*"}, {}, True),
        ({"model": "small"}, {"model": "small"}, True),
        ({"model": "small"}, {"model": "large"}, False),
        ({"model": "sm*"}, {"model": "small"}, True),
        ({"model": "*"}, {}, False),
        ({"max_input_tokens": 50}, {"input_tokens": 50}, True),
        ({"max_input_tokens": 50}, {"input_tokens": 51}, False),
        ({"max_input_tokens": 50}, {}, False),
        ({"min_input_tokens": 50}, {"input_tokens": 50}, True),
        ({"min_input_tokens": 50}, {"input_tokens": 49}, False),
        ({"min_input_tokens": 0}, {}, False),
        ({"headers": (("x-class", "faq"),)}, {"headers": {"x-class": "faq"}}, True),
        ({"headers": (("x-class", "faq"),)}, {"headers": {"x-class": "chat"}}, False),
        ({"headers": (("x-class", "*"),)}, {"headers": {"x-class": ""}}, True),
        ({"headers": (("x-class", "*"),)}, {}, False),
        ({"path": CHAT, "model": "small"}, {"model": "small"}, True),
        ({"path": CHAT, "model": "small"}, {"model": "large"}, False),
        ({"path": "/v1/*", "model": "s*", "min_input_tokens": 2, "max_input_tokens": 4},
         {"model": "small", "input_tokens": 3}, True),
        ({"path": "/v1/*", "model": "s*", "min_input_tokens": 2, "max_input_tokens": 4},
         {"model": "small", "input_tokens": 5}, False),
    ],
)  # fmt: skip
def test_a_match_is_the_conjunction_of_its_conditions(
    match: dict[str, object], facts: dict[str, object], holds: bool
) -> None:
    built = router(RouteSpec(name="r", match=MatchSpec(**match)))  # type: ignore[arg-type]
    found = built.match(request(**facts))  # type: ignore[arg-type]
    assert isinstance(found, RouteMatch)
    assert found.route == ("r" if holds else "default")


def test_the_first_match_wins_whatever_the_form_of_its_path() -> None:
    built = router(
        RouteSpec(name="a", match=MatchSpec(path="/v1/*", model="large")),
        RouteSpec(name="b", match=MatchSpec(path=CHAT)),
        RouteSpec(name="c"),
    )
    routes = {}
    for path in (CHAT, "/v1/x", "/other"):
        for model in ("small", "large"):
            found = built.match(request(path, model=model))
            assert isinstance(found, RouteMatch)
            routes[path, model] = found.route
    assert routes == {
        (CHAT, "small"): "b", (CHAT, "large"): "a",
        ("/v1/x", "small"): "c", ("/v1/x", "large"): "a",
        ("/other", "small"): "c", ("/other", "large"): "c",
    }  # fmt: skip


def test_what_the_router_needs_to_know_is_told() -> None:
    bare = router(RouteSpec(name="r", match=MatchSpec(path="/x")))
    assert not bare.needs("/x").body
    assert bare.needs("/x").headers == frozenset()
    rich = router(
        RouteSpec(name="r", match=MatchSpec(headers=(("x-a", "1"), ("x-b", "*")))),
        RouteSpec(name="s", match=MatchSpec(min_input_tokens=0)),
    )
    assert rich.needs(CHAT).input_tokens
    assert rich.needs(CHAT).headers == {"x-a", "x-b"}


@pytest.mark.parametrize(
    ("alias", "asked", "sent", "rewrites"),
    [
        (None, None, None, False),
        (None, "small", "small", False),
        ("small", "faq-bot", "small", True),
        ("small", None, "small", True),
        ("small", "small", "small", False),
    ],
)
def test_the_alias_is_what_goes_upstream(
    alias: str | None, asked: str | None, sent: str | None, rewrites: bool
) -> None:
    built = router(
        RouteSpec(name="r", model=alias, rewrite_path="/v1/y", fallback_on=frozenset({429}))
    )
    found = built.match(request(model=asked))
    assert isinstance(found, RouteMatch)
    assert (found.model, found.rewrites_model) == (sent, rewrites)
    assert (found.rewrite_path, found.fallback_on) == ("/v1/y", frozenset({429}))


def test_only_an_engine_with_the_model_gets_a_request() -> None:
    assert chosen(router(), request(model="large")) == {"main"}
    assert chosen(router(), request(model="small")) == {"main", "aux"}
    assert chosen(router(), request()) == {"main", "aux"}


def test_a_model_that_nobody_lists_does_not_exist() -> None:
    found = router().match(request(model="gpt-9"))
    assert found == Refusal(404, "model_not_found", "The model `gpt-9` does not exist")


def test_a_model_outside_of_the_route_is_not_said_not_to_exist() -> None:
    found = router(RouteSpec(name="r", prefer=("aux",))).match(request(model="large"))
    assert found == Refusal(404, "model_not_found", "The model `large` is not served by route `r`")


AWAY = (EngineState.LOADING, EngineState.UNREACHABLE, EngineState.DRAINING)


@pytest.mark.parametrize("state", AWAY)
@pytest.mark.parametrize("known", [True, False])
def test_a_model_of_an_engine_that_is_away_is_worth_waiting_for(
    state: EngineState, known: bool
) -> None:
    """gpustack issue 6030: after a missed health check clients saw 404 and stopped retrying."""
    models = ("large",) if known else ()
    view = fleet(engine("main", *models, state=state, known=known), engine("aux", "small"))
    found = router(view=view).match(request(model="large"))
    assert isinstance(found, Refusal)
    assert (found.status, found.code) == (503, "no_engine_ready")
    assert found.retry_after_s is not None
    assert found.retry_after_s > 0


def test_an_engine_whose_list_is_not_known_is_tried_with_any_model() -> None:
    new = engine("new", state=EngineState.UNKNOWN, known=False)
    assert chosen(router(view=fleet(new, engine("aux", "small"))), request(model="x")) == {"new"}


def test_no_engines_at_all_is_not_the_clients_fault() -> None:
    found = router(view=fleet()).match(request(model="x"))
    assert isinstance(found, Refusal)
    assert found.status == 503


def test_unlisted_names_do_not_grow_the_tables() -> None:
    built = router(view=fleet(engine("new", known=False), engine("aux", "small")))
    for number in range(50):
        built.match(request(model=f"m{number}"))
    assert sum(len(route._found) for route in built._any_path) == 0


def test_the_quality_floor_holds_and_fails_closed() -> None:
    floor = RouteSpec(name="r", min_quality=3.5)
    built = router(floor)
    assert chosen(built, request(model="large")) == {"main"}
    below = built.match(request(model="small"))
    assert isinstance(below, Refusal)
    assert (below.status, below.code) == (404, "model_below_min_quality")
    view = fleet(engine("a", "large"), engine("b", "small"), engine("c", "unrated"))
    nameless = router(floor, view=view)
    assert chosen(nameless, request(), in_flight=(9, 0, 0), shares=(1, 1, 1)) == {"a"}
    several = router(floor, view=fleet(engine("a", "large", "small"), engine("b", "large")))
    assert chosen(several, request(), in_flight=(0, 9), shares=(1, 1)) == {"b"}
    unrated = nameless.match(request(model="unrated"))
    assert isinstance(unrated, Refusal)
    unknown = router(floor, view=fleet(engine("n", known=False))).match(request())
    assert isinstance(unknown, Refusal)
    assert unknown.status == 503


OVERFLOWING = RouteSpec(
    name="faq", prefer=("aux",), overflow=("main",), overflow_when=OverflowSpec(in_flight=4)
)


@pytest.mark.parametrize(
    ("in_flight", "shares", "excluded", "names"),
    [
        ((0, 3), (1, 1), (), {"aux"}),
        ((0, 4), (1, 1), (), {"main"}),
        ((9, 4), (1, 1), (), {"aux"}),  # the joined pool: the policy decides
        ((0, 0), (1, 0), (), {"main"}),
        ((0, 0), (0, 0), (), {"aux"}),
        ((0, 0), (1, 1), (1,), {"main"}),
        ((0, 9), (1, 1), (0,), {"aux"}),
        ((0, 0), (1, 0.1), (), {"main", "aux"}),
    ],
)
def test_overflow_joins_when_all_preferred_are_full_or_gone(
    in_flight: tuple[int, ...],
    shares: tuple[float, ...],
    excluded: tuple[int, ...],
    names: set[str],
) -> None:
    built = router(OVERFLOWING)
    asked = request(model="small")
    assert chosen(built, asked, in_flight=in_flight, shares=shares, excluded=excluded) == names


def test_engines_that_a_route_does_not_name_are_never_used() -> None:
    view = fleet(engine("main", "m"), engine("aux", "m"), engine("third", "m"))
    idle = {"in_flight": (9, 9, 0), "shares": (1.0, 1.0, 1.0)}
    for route, names in (
        (RouteSpec(name="r", prefer=("main", "aux")), {"main", "aux"}),
        (RouteSpec(name="r", overflow=("aux",)), {"aux"}),
        (RouteSpec(name="r", prefer=("main",), overflow=("aux",)), {"main"}),
        (RouteSpec(name="r"), {"third"}),
    ):
        assert chosen(router(route, view=view), request(), **idle) == names  # type: ignore[arg-type]


def test_the_decision_is_told_in_ascii() -> None:
    view = fleet(engine("보조", "m"), engine("main", "m", state=EngineState.LOADING))
    built = router(RouteSpec(name="질문 1", prefer=("main",), overflow=("보조",)), view=view)
    choice = choose(built, request())
    assert isinstance(choice, Choice)
    assert choice.engine == "보조"
    assert choice.engine_header == "%EB%B3%B4%EC%A1%B0"
    assert choice.reason == "route=%EC%A7%88%EB%AC%B8%201 policy=expected_finish via=overflow"


KINDS = fleet(
    engine("vllm", "m"),
    engine("triton", "m", kind=EngineKind.TRITON),
    engine("ollama", "m:latest", kind=EngineKind.OLLAMA),
)


@pytest.mark.parametrize(
    ("path", "rewrite", "names"),
    [
        ("/v2/models/m/generate", None, {"triton"}),
        ("/v2/models/m/generate", CHAT, {"vllm", "ollama", "triton"}),
        ("/api/chat", None, {"ollama"}),
        ("/api/faq", None, {"vllm", "ollama"}),
        ("/anything", "/api/generate", {"ollama"}),
        (CHAT, None, {"vllm", "ollama", "triton"}),
        ("/v1/completions", None, {"vllm", "ollama", "triton"}),
        ("/v1/messages", None, {"vllm", "ollama", "triton"}),
        ("/v1/messages/count_tokens", None, {"vllm", "ollama", "triton"}),
        ("/v1/embeddings", None, {"vllm", "ollama"}),
    ],
)
def test_paths_go_to_engines_that_speak_them(
    path: str, rewrite: str | None, names: set[str]
) -> None:
    built = router(
        RouteSpec(name="r", match=MatchSpec(path=path), rewrite_path=rewrite), view=KINDS
    )
    everybody = {"in_flight": (0, 0, 0), "shares": (1.0, 1.0, 1.0)}
    assert chosen(built, request(path, model="m"), **everybody) == names  # type: ignore[arg-type]


def test_triton_gets_translated_requests_for_models_that_it_lists() -> None:
    unlisted = fleet(engine("vllm", "m"), engine("triton", kind=EngineKind.TRITON, known=False))
    everybody = {"in_flight": (0, 0, 0), "shares": (1.0, 1.0, 1.0)}
    assert chosen(
        router(view=unlisted), request(model="m"), in_flight=(0, 0), shares=(1.0, 1.0)
    ) == {"vllm"}
    assert chosen(router(view=KINDS), request(model=None), **everybody) == {"vllm", "ollama"}  # type: ignore[arg-type]


def test_kinds_only_narrow_where_a_better_one_exists() -> None:
    alone = fleet(engine("triton", "m", kind=EngineKind.TRITON))
    assert chosen(router(view=alone), request(), in_flight=(0,), shares=(1.0,)) == {"triton"}
    assert chosen(router(), request("/api/chat")) == {"main", "aux"}
    gone = fleet(
        engine("vllm", "m"),
        engine("triton", "m", kind=EngineKind.TRITON, state=EngineState.UNREACHABLE),
    )
    assert isinstance(router(view=gone).match(request("/v2/models/m/infer")), Refusal)


def test_load_counted_at_dispatch_splits_a_burst_evenly() -> None:
    """smg pull 1714: load counted at the first byte sends a whole burst to one engine."""
    built, rng, load = router(), Random(3), [0, 0]
    match = built.match(request(model="small"))
    assert isinstance(match, RouteMatch)
    for _ in range(20):
        choice = built.choose(match, ASKED, loads(load), excluded=(), rng=rng)
        assert isinstance(choice, Choice)
        load[choice.index] += 1
    assert load == [10, 10]


def test_paths_that_no_rule_knows_are_spread_too() -> None:
    """vllm-project router issue 179: unknown paths were routed by a load they never entered."""
    view = fleet(*(engine(f"e{i}", "m") for i in range(8)))
    built, rng, load = router(view=view), Random(5), [0] * 8
    match = built.match(request("/v1/unheard-of"))
    assert isinstance(match, RouteMatch)
    for _ in range(480):
        choice = built.choose(match, ASKED, loads(load), excluded=(), rng=rng)
        assert isinstance(choice, Choice)
        load[choice.index] += 1
    assert max(load) <= 2 * 60


def test_a_lease_that_is_always_returned_leaves_no_load() -> None:
    """production-stack pull 1040: failures stayed in flight, and the engine looked busy forever."""
    built, rng, load, tries = router(), Random(7), [0, 0], Counter[int]()
    match = built.match(request(model="small"))
    assert isinstance(match, RouteMatch)
    for _ in range(200):
        choice = built.choose(match, ASKED, loads(load), excluded=(), rng=rng)
        assert isinstance(choice, Choice)
        load[choice.index] += 1
        tries[choice.index] += 1
        load[choice.index] -= 1
    assert min(tries.values()) > 60


@pytest.mark.parametrize("policy", list(PolicyName))
@pytest.mark.parametrize("load", [(0, 0), (3, 3)])
def test_a_slow_starting_engine_gets_at_most_its_share(
    policy: PolicyName, load: tuple[int, int]
) -> None:
    built, rng = router(policy=policy), Random(11)
    match = built.match(request(model="small"))
    assert isinstance(match, RouteMatch)
    counts = Counter(
        built.choose(match, ASKED, loads(load, (1.0, 0.2)), excluded=(), rng=rng).engine  # type: ignore[union-attr]
        for _ in range(3000)
    )
    assert 150 < counts["aux"] < 700


NAMES = ("a", "b", "c", "d")
MODELS = ("m1", "m2", "m3")
engines = st.builds(
    lambda name, models, state, kind, known: engine(
        name, *models, state=state, kind=kind, known=known
    ),
    st.just(""),
    st.lists(st.sampled_from(MODELS), unique=True, max_size=3),
    st.sampled_from(EngineState),
    st.sampled_from([EngineKind.VLLM, EngineKind.TRITON, EngineKind.OLLAMA, EngineKind.AUTO]),
    st.booleans(),
)
fleets = st.lists(engines, min_size=1, max_size=4).map(
    lambda views: fleet(
        *(
            EngineView(
                name=name,
                kind=view.kind,
                state=view.state,
                models=view.models,
                models_known=view.models_known,
            )
            for name, view in zip(NAMES, views, strict=False)
        )
    )
)
routes = st.builds(
    RouteSpec,
    name=st.just("r"),
    model=st.none() | st.sampled_from(MODELS),
    prefer=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    overflow=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    overflow_when=st.builds(OverflowSpec, in_flight=st.none() | st.integers(1, 4)),
    min_quality=st.none() | st.floats(1.0, 5.0),
)
QUALITIES = {"m1": 2.0, "m2": 4.0}  # m3 is not rated


@given(
    view=fleets,
    route=routes,
    policy=st.sampled_from(PolicyName),
    asked=st.none() | st.sampled_from((*MODELS, "unlisted")),
    path=st.sampled_from([CHAT, "/v2/models/m1/infer", "/api/chat"]),
    load=st.lists(st.integers(0, 6), min_size=4, max_size=4),
    shares=st.lists(st.sampled_from([0.0, 0.1, 0.6, 1.0]), min_size=4, max_size=4),
    excluded=st.frozensets(st.integers(0, 3), max_size=3),
    seed=st.integers(0, 1000),
)
def test_whoever_is_chosen_may_serve_the_request(
    view: FleetView,
    route: RouteSpec,
    policy: PolicyName,
    asked: str | None,
    path: str,
    load: list[int],
    shares: list[float],
    excluded: frozenset[int],
    seed: int,
) -> None:
    models = tuple(ModelSpec(name=name, quality=value) for name, value in QUALITIES.items())
    spec = RoutingSpec(routes=(route,), models=models, policy=policy)
    built = Router(spec, view, PolicyMemory())
    match = built.match(request(path, model=asked))
    if isinstance(match, Refusal):
        assert match.status in (404, 503)
        assert (match.retry_after_s is not None) == (match.status == 503)
        return
    choice = built.choose(match, ASKED, loads(load, shares), excluded=excluded, rng=Random(seed))
    usable = [i for i in match.pool if i not in excluded]
    if isinstance(choice, Refusal):
        assert not usable
        return
    found = view.engines[choice.index]
    listed = {model.id for model in found.models}
    sent = route.model or asked
    assert match.model == sent
    assert choice.engine == found.name
    assert choice.index in usable
    assert found.state.takes_traffic
    assert sent is None or not found.models_known or sent in listed
    if route.min_quality is not None:
        served = [sent] if sent is not None else [model.id for model in found.models]
        assert min(QUALITIES.get(model, 0.0) for model in served) >= route.min_quality
    named = set(route.prefer) | set(route.overflow)
    assert not named or found.name in named
    live = [i for i in usable if shares[i] > 0]
    ejected = len(usable) - len(live)
    if live and shares[choice.index] == 0:
        assert ejected > len(usable) // 2
    preferred = [i for i in usable if view.engines[i].name in route.prefer]
    limit = route.overflow_when.in_flight
    if choice.index not in preferred and all(shares[i] == 1.0 for i in usable):
        assert not preferred or (limit is not None and min(load[i] for i in preferred) >= limit)
    assert choice.reason.isascii()
