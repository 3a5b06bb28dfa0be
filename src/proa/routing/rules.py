"""Conditions of routes, compiled to checks that cost only what is asked."""

from collections.abc import Callable

from proa.domain.request import RouteRequest
from proa.routing.spec import MatchSpec

Check = Callable[[RouteRequest], bool]


def compile_checks(match: MatchSpec, adapters: frozenset[str] = frozenset()) -> tuple[Check, ...]:
    """The checks of a match, cheapest first, without an exact path (`exact_path` is indexed).

    `adapters` are the known LoRA adapters, which requests name as their model.
    """
    checks: list[Check] = []
    if match.path is not None and match.path.endswith("*"):
        checks.append(_path_prefix(match.path[:-1]))
    if match.model is not None:
        checks.append(_model(match.model))
    if match.adapter is not None:
        checks.append(_adapter(match.adapter, adapters))
    if match.tenant is not None:
        checks.append(_tenant(match.tenant))
    if match.max_tokens is not None or match.min_tokens is not None:
        checks.append(_max_tokens(match.min_tokens or 0, match.max_tokens))
    if match.max_input_tokens is not None or match.min_input_tokens is not None:
        checks.append(_input_tokens(match.min_input_tokens or 0, match.max_input_tokens))
    if match.request_class is not None:
        checks.append(_request_class(match.request_class))
    if match.pii is not None:
        checks.append(_pii(is_found=match.pii))
    checks.extend(_header(name, value) for name, value in match.headers)
    return tuple(checks)


def exact_path(match: MatchSpec) -> str | None:
    """The one path that a match accepts, None if it accepts several."""
    return None if match.path is None or match.path.endswith("*") else match.path


def _path_prefix(prefix: str) -> Check:
    return lambda request: request.path.startswith(prefix)


def _model(pattern: str) -> Check:
    if not pattern.endswith("*"):
        return lambda request: request.model == pattern
    prefix = pattern[:-1]
    return lambda request: request.model is not None and request.model.startswith(prefix)


def _adapter(pattern: str, adapters: frozenset[str]) -> Check:
    named = _model(pattern)
    return lambda request: request.model in adapters and named(request)


def _tenant(name: str) -> Check:
    return lambda request: request.tenant == name


def _max_tokens(least: int, most: int | None) -> Check:
    def check(request: RouteRequest) -> bool:
        tokens = request.max_tokens
        return tokens is not None and least <= tokens and (most is None or tokens <= most)

    return check


def _request_class(name: str) -> Check:
    return lambda request: request.request_class == name


def _pii(*, is_found: bool) -> Check:
    return lambda request: request.pii is is_found


def _input_tokens(least: int, most: int | None) -> Check:
    def check(request: RouteRequest) -> bool:
        tokens = request.input_tokens
        return tokens is not None and least <= tokens and (most is None or tokens <= most)

    return check


def _header(name: str, value: str) -> Check:
    if value == "*":
        return lambda request: name in request.headers
    return lambda request: request.headers.get(name) == value
