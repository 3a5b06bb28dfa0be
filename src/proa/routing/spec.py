"""What the configuration may say about routing, as frozen values."""

from enum import StrEnum

import msgspec

from proa.routing.admission.priority import Priority


class PolicyName(StrEnum):
    EXPECTED_FINISH = "expected_finish"
    LEAST_LOAD = "least_load"
    WEIGHTED = "weighted"
    ROUND_ROBIN = "round_robin"
    POWER_OF_TWO = "power_of_two"


class MatchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of a route, all of which must hold; None asks nothing.

    `path` and `model` match exactly, or by prefix when they end in `*`.
    `headers` maps lower-case names to exact values, or `*` for "is present".
    `max_input_tokens` and `min_input_tokens` are inclusive and fail when the
    number of input tokens is not known.
    """

    path: str | None = None
    model: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    max_input_tokens: int | None = None
    min_input_tokens: int | None = None


class OverflowSpec(msgspec.Struct, frozen=True, kw_only=True):
    """When a route's `overflow` engines join its `prefer` engines.

    `in_flight`: all usable preferred engines hold at least so many requests of
    ours. None: only when no preferred engine is usable.
    """

    in_flight: int | None = None


class RouteSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[routes]]` entry; names are checked against the engines when the file is read.

    `priority` and `max_wait_s` are how its requests wait, see `WaitingTerms`.
    """

    name: str
    match: MatchSpec = MatchSpec()
    rewrite_path: str | None = None
    model: str | None = None
    prefer: tuple[str, ...] = ()
    overflow: tuple[str, ...] = ()
    overflow_when: OverflowSpec = OverflowSpec()
    min_quality: float | None = None
    fallback_on: frozenset[int] | None = None
    priority: Priority = Priority.DEFAULT
    max_wait_s: float | None = None


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[models]]` entry: `quality` on any scale of one's own."""

    name: str
    quality: float


class BreakerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """When an engine is taken out by its own failures, and how it returns.

    `failures` broken tries in a row open the breaker for `open_s`, doubled at
    each reopening up to `max_open_s`; then one trial request at a time, and after
    `successes` good ones the engine's share grows from a tenth to the whole over
    `slow_start_s`.
    """

    failures: int = 3
    open_s: float = 1.0
    max_open_s: float = 30.0
    successes: int = 2
    slow_start_s: float = 5.0


class RoutingSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a `Router` is compiled from, but the fleet."""

    routes: tuple[RouteSpec, ...] = ()
    models: tuple[ModelSpec, ...] = ()
    policy: PolicyName = PolicyName.EXPECTED_FINISH
    weights: dict[str, float] = {}
    breaker: BreakerSpec = BreakerSpec()
