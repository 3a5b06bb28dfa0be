"""What the router answers: a match, a choice of engine, or a refusal."""

from urllib.parse import quote

import msgspec

from proa.routing.admission.priority import WaitingTerms
from proa.routing.spec import OverflowSpec

NO_ENGINE_LEFT = "no_engine_left"
RETRY_AFTER_S = 5  # a model's engine is loading or away; polls notice its return within a second


class Choice(msgspec.Struct, frozen=True, gc=False):
    """The engine that gets the request.

    `index` is the position in `FleetView.engines`. `engine_header` and `reason` are
    the values of `x-proa-engine` and `x-proa-decision`: ASCII, whatever the names.
    """

    index: int
    engine: str
    engine_header: str
    reason: str


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """No engine for this request: the answer to the client, in OpenAI's terms.

    `waiting` is there when an engine may yet come or get free: how long that is waited for.
    """

    status: int
    code: str
    message: str
    retry_after_s: int | None = None
    waiting: WaitingTerms | None = None


class RouteMatch(msgspec.Struct, frozen=True, kw_only=True):
    """The route of a request and the engines that may serve it.

    `model` is what goes upstream: the route's alias target or the asked one;
    `rewrites_model` tells that the body says otherwise or nothing, `rewrites` that this or
    the path has to be written into the request. `pool`,
    `preferred`, `overflow_when` and `choices` are for `Router.choose`: engine
    indexes that take traffic; `preferred` is empty where the pool has no order.
    `contexts` are tokens by engine, where known; `least_context_tokens` is the
    smallest, see `context.py`. `fallback` is the same for the route's next model.
    """

    route: str
    rewrite_path: str | None
    model: str | None
    rewrites_model: bool
    fallback_on: frozenset[int] | None
    pool: tuple[int, ...]
    preferred: tuple[int, ...]
    overflow_when: OverflowSpec | None
    choices: dict[int, Choice]
    contexts: dict[int, int] = {}
    least_context_tokens: int | None = None
    fallback: "RouteMatch | None" = None
    waiting: WaitingTerms = WaitingTerms()
    rewrites: bool = False


def header_text(name: str) -> str:
    """`name` as one ASCII word for a header: other characters percent-encoded as UTF-8."""
    return quote(name, safe="/:@!$&'()*+,")
