"""Routes that don't ask cost nothing: what is looked for on a path is what its routes ask for."""

import msgspec
import pytest

from proa.routing.needs import CLASS_HEADER, Needs, needs_of
from proa.routing.spec import (
    ClassifierSpec,
    MatchSpec,
    PolicyName,
    RouteSpec,
    RoutingSpec,
)

CHAT = "/v1/chat/completions"


def needs(path: str | None, *matches: MatchSpec, classifier: bool = False, **spec: object) -> Needs:
    model = ClassifierSpec(model=b"{}") if classifier else None
    routes = tuple(RouteSpec(name=str(i), match=match) for i, match in enumerate(matches))
    return needs_of(RoutingSpec(routes=routes, classifier=model, **spec), path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (MatchSpec(model="m", adapter="a"), {}),
        (MatchSpec(max_input_tokens=1), {"input_tokens": True}),
        (MatchSpec(min_input_tokens=1), {"input_tokens": True}),
        (MatchSpec(max_tokens=1), {"max_tokens": True}),
        (MatchSpec(min_tokens=1), {"max_tokens": True}),
        (MatchSpec(tenant="t"), {"tenant": True}),
        (MatchSpec(headers=(("x-a", "*"),)), {"headers": frozenset({"x-a"})}),
        (
            MatchSpec(request_class="faq"),
            {"request_class": True, "headers": frozenset({CLASS_HEADER})},
        ),
    ],
)
def test_each_condition_asks_for_its_own(match: MatchSpec, expected: dict[str, object]) -> None:
    assert needs(CHAT, match) == Needs(**expected)  # type: ignore[arg-type]


def test_routes_of_other_paths_ask_for_nothing_here() -> None:
    faq = MatchSpec(path="/api/faq", request_class="faq", max_input_tokens=9)
    assert needs(CHAT, faq, classifier=True) == Needs()
    assert needs("/api/faq", faq, classifier=True).body
    prefix = MatchSpec(path="/api/*", max_input_tokens=9)
    assert needs(None, prefix).input_tokens


def test_a_declared_class_alone_does_not_need_the_body() -> None:
    match = MatchSpec(request_class="faq")
    assert not needs(CHAT, match).body
    assert needs(CHAT, match, classifier=True).body


@pytest.mark.parametrize(
    ("policy", "asks"),
    [
        (PolicyName.SESSION, "session"),
        (PolicyName.PREFIX_AFFINITY, "prefix"),
        (PolicyName.LEAST_LOAD, ""),
    ],
)
def test_policies_ask_for_what_they_look_at(policy: PolicyName, asks: str) -> None:
    found = needs(None, policy=policy)
    assert found == msgspec.structs.replace(Needs(), **{asks: True} if asks else {})
    assert found.policy is bool(asks)
    assert not found.body
