"""SGLang: alive when it lists its models.

Its `/health` generates a token and takes a second, so it is never asked. The gauges of
its `/metrics` lag by seconds; `/v1/loads` is live.
Source: SGLang 0.5.23, recorded replies; `/get_load` and `/get_server_info` of 0.4 and
early 0.5 from sglang's http_server.py (read, not run).
"""

import msgspec

from proa.domain.fleet import EngineKind
from proa.domain.load import EngineLoad
from proa.engines.base import EngineAdapter
from proa.engines.fields import (
    UNREADABLE,
    count_of_tokens,
    object_at,
    plain_text,
    plain_values,
    positive_count,
)
from proa.engines.prometheus import Readings
from proa.engines.sources import (
    CancelHabit,
    EngineFacts,
    FactSource,
    LoadSource,
    Probe,
    TokenCount,
)

_NAMES = (
    "num_running_reqs",
    "num_queue_reqs",
    "token_usage",
    "max_total_num_tokens",
    "cache_hit_rate",
    "num_retracted_requests_total",
    "prompt_tokens_total",
    "generation_tokens_total",
    "cached_tokens_total",
)
_SPELLED = {name: (f"sglang:{name}", f"sglang_{name}") for name in _NAMES}
_ALL = [spelling for spellings in _SPELLED.values() for spelling in spellings]
_COPIES = ("tp_rank", "pp_rank", "moe_ep_rank")
_FLAGS = ("tp_size", "dp_size", "kv_cache_dtype", "quantization", "chunked_prefill_size",
          "max_queued_requests", "disable_radix_cache", "max_loras_per_batch")  # fmt: skip


class _Rank(msgspec.Struct):
    """One data parallel rank; `num_reqs` of `/get_load` counts those that wait too."""

    num_running_reqs: int | None = None
    num_waiting_reqs: int | None = None
    num_reqs: int | None = None
    max_total_num_tokens: int | None = None
    max_running_requests: int | None = None
    token_usage: float | None = None
    cache_hit_rate: float | None = None

    @property
    def running(self) -> int | None:
        if self.num_running_reqs is None and self.num_reqs is not None:
            return self.num_reqs - (self.num_waiting_reqs or 0)
        return self.num_running_reqs


class _Loads(msgspec.Struct):
    loads: list[_Rank]


class _ServerInfo(msgspec.Struct):
    internal_states: list[msgspec.Raw] = []
    max_total_num_tokens: int | None = None


class _InternalState(msgspec.Struct):
    load: int | _Rank | None = None


_loads = msgspec.json.Decoder(_Loads)
_ranks = msgspec.json.Decoder(list[_Rank])
_server_info = msgspec.json.Decoder(_ServerInfo)
_internal_state = msgspec.json.Decoder(_InternalState)


def read_loads(body: bytes, at_s: float) -> EngineLoad | None:
    """`/v1/loads`: `{"loads": [rank, ...]}`."""
    try:
        return _load_of(_loads.decode(body).loads, at_s)
    except UNREADABLE:
        return None


def read_get_load(body: bytes, at_s: float) -> EngineLoad | None:
    """`/get_load`: `[{"dp_rank", "num_reqs", "num_waiting_reqs", "num_tokens"}, ...]`."""
    try:
        return _load_of(_ranks.decode(body), at_s)
    except UNREADABLE:
        return None


def read_server_info(body: bytes, at_s: float) -> EngineLoad | None:
    """`/get_server_info`: each rank's `load` is a number of requests, or a rank."""
    try:
        states = [_internal_state.decode(raw) for raw in _server_info.decode(body).internal_states]
    except UNREADABLE:
        return None
    loads = [state.load for state in states if state.load is not None]
    return _load_of([_Rank(num_reqs=n) if isinstance(n, int) else n for n in loads], at_s)


def read_metrics(page: bytes, at_s: float) -> EngineLoad | None:
    """The load on the metrics page; ranks of one tensor parallel group tell the same."""
    readings = Readings(page, _ALL)
    if not readings:
        return None
    return EngineLoad(
        at_s=at_s,
        running=readings.count(*_SPELLED["num_running_reqs"], copies=_COPIES),
        waiting=readings.count(*_SPELLED["num_queue_reqs"], copies=_COPIES),
        kv_use=readings.share(*_SPELLED["token_usage"]),
        kv_tokens=readings.count(*_SPELLED["max_total_num_tokens"], copies=_COPIES),
        preemptions_total=readings.total(*_SPELLED["num_retracted_requests_total"], copies=_COPIES),
        prefix_queries_total=readings.total(*_SPELLED["prompt_tokens_total"]),
        prefix_hits_total=readings.total(*_SPELLED["cached_tokens_total"]),
        prefix_hit_rate=readings.share(*_SPELLED["cache_hit_rate"]),
        prompt_tokens_total=readings.total(*_SPELLED["prompt_tokens_total"]),
        generation_tokens_total=readings.total(*_SPELLED["generation_tokens_total"]),
    )


def read_facts(body: bytes) -> EngineFacts | None:
    """`/server_info`, 37 kB: of it a few settings."""
    fields = object_at(body)
    if not fields:
        return None
    return EngineFacts(
        version=plain_text(fields.get("version")) or "",
        context_tokens=positive_count(fields.get("context_length")),
        max_running=positive_count(fields.get("max_running_requests")),
        flags=plain_values(fields, *_FLAGS),
    )


def _load_of(ranks: list[_Rank], at_s: float) -> EngineLoad | None:
    if not ranks:
        return None
    return EngineLoad(
        at_s=at_s,
        running=_sum([rank.running for rank in ranks]),
        waiting=_sum([rank.num_waiting_reqs for rank in ranks]),
        kv_use=_greatest([rank.token_usage for rank in ranks]),
        kv_tokens=_sum([rank.max_total_num_tokens for rank in ranks]),
        max_running=_sum([rank.max_running_requests for rank in ranks]),
        prefix_hit_rate=_greatest([rank.cache_hit_rate for rank in ranks]),
    )


def _sum(values: list[int | None]) -> int | None:
    known = [max(0, value) for value in values if value is not None]
    return sum(known) if known else None


def _greatest(values: list[float | None]) -> float | None:
    return max((min(max(v, 0.0), 1.0) for v in values if v is not None), default=None)


class SglangAdapter(EngineAdapter):
    """An SGLang API server; it queues without limit unless told otherwise."""

    kind = EngineKind.SGLANG
    load_groups = (
        (
            LoadSource(Probe("/v1/loads?include=core"), read_loads),
            LoadSource(Probe("/get_load"), read_get_load),
            LoadSource(Probe("/get_server_info"), read_server_info),
        ),
        (LoadSource(Probe("/metrics"), read_metrics, is_metrics=True),),
    )
    fact_sources = (FactSource(Probe("/server_info"), read_facts, every_s=60.0),)
    token_count = TokenCount("/tokenize", "prompt", count_of_tokens)
    cancel_habit = CancelHabit(stream_s=0.1, whole_s=4.0)
    load_hint = "start it with --enable-metrics"
