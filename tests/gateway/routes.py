"""Routing that leaves nothing to chance: `main` while it is usable, then `aux`."""

from proa.routing.spec import BreakerSpec, RouteSpec, RoutingSpec


def main_first(*, breaker: BreakerSpec | None = None, **route: object) -> RoutingSpec:
    """`route` are further fields of the one route."""
    spec = RouteSpec(name="main-first", prefer=("main",), overflow=("aux",), **route)  # type: ignore[arg-type]
    return RoutingSpec(routes=(spec,), breaker=breaker or BreakerSpec())


MAIN_FIRST = main_first()
