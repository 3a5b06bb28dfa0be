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
    SESSION = "session"
    PREFIX_AFFINITY = "prefix_affinity"
    LORA = "lora"


class MatchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of a route, all of which must hold; None asks nothing.

    `path` and `model` match exactly, or by prefix when they end in `*`.
    `headers` maps lower-case names to exact values, or `*` for "is present".
    `max_input_tokens` and `min_input_tokens` are inclusive and fail when the
    number of input tokens is not known; so do `max_tokens` and `min_tokens`, which
    bound the client's own limit on the answer. `request_class` is declared or
    classified, `tenant` the name of a key, `adapter` a LoRA adapter that the request
    names as its model, exact or by prefix. `pii`: whether personal data was found in it.
    """

    path: str | None = None
    model: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    max_input_tokens: int | None = None
    min_input_tokens: int | None = None
    max_tokens: int | None = None
    min_tokens: int | None = None
    request_class: str | None = msgspec.field(default=None, name="class")
    tenant: str | None = None
    adapter: str | None = None
    pii: bool | None = None


class OverflowSpec(msgspec.Struct, frozen=True, kw_only=True):
    """When a route's `overflow` engines join its `prefer` engines.

    All usable preferred engines must have reached one of the measures: `in_flight`
    requests of ours, requests `waiting` in the engine, a predicted wait before the
    prompt's turn comes. All None: only when no preferred engine is usable.
    """

    in_flight: int | None = None
    waiting: int | None = None
    predicted_wait_s: float | None = None

    @property
    def asks(self) -> bool:
        return (self.in_flight, self.waiting, self.predicted_wait_s) != (None, None, None)


class RouteSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[routes]]` entry; names are checked against the engines when the file is read.

    `fallback_models` are taken in order when the route's or the client's model cannot be.
    `priority` and `max_wait_s` are how its requests wait, see `WaitingTerms`.
    """

    name: str
    match: MatchSpec = MatchSpec()
    rewrite_path: str | None = None
    model: str | None = None
    prefer: tuple[str, ...] = ()
    overflow: tuple[str, ...] = ()
    overflow_when: OverflowSpec = OverflowSpec()
    fallback_models: tuple[str, ...] = ()
    min_quality: float | None = None
    fallback_on: frozenset[int] | None = None
    priority: Priority = Priority.DEFAULT
    max_wait_s: float | None = None


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[models]]` entry: `quality` on any scale of one's own."""

    name: str
    quality: float


class AdapterSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[adapters]]` entry: a LoRA adapter that engines load on demand.

    `model` is the base model, `path` where the engines find the adapter's files.
    """

    name: str
    model: str
    path: str


class PolicyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`[policy]` but its name.

    `session_header` names the header that keeps a session together, else it is the
    body's `user`; `session_load_factor` is how far above its share an engine may be
    loaded for it. `prefix_memory_blocks` bounds what `prefix_affinity` remembers, in blocks of
    prompts. `adapters_per_engine` is how many adapters an engine holds at one time.
    `hedge` sends late short requests to a second engine, at most `hedge_share` of them.
    """

    session_header: str = "x-session-id"
    session_load_factor: float = 1.25
    prefix_memory_blocks: int = 100_000
    adapters_per_engine: int = 4
    hedge: bool = False
    hedge_share: float = 0.03


class ClassifierSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`[classifier]`: the content of the model's file; below `min_probability` no class is told."""

    model: bytes
    min_probability: float = 0.5


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
    policy_options: PolicyOptions = PolicyOptions()
    adapters: tuple[AdapterSpec, ...] = ()
    classifier: ClassifierSpec | None = None
    weights: dict[str, float] = {}
    breaker: BreakerSpec = BreakerSpec()
