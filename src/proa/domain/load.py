"""How much engines have to do: what they say themselves, and what the gateway makes of it.

The fleet view tells who is there and changes rarely; a load view changes at every poll.
"""

import msgspec

from proa.domain.timing import EngineTiming


class EngineLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine said about itself at `at_s` (arrival, monotonic clock).

    None is "it does not say", never zero. Requests are counts over all of the engine's
    ranks; `kv_use` is a share, `kv_tokens` the capacity; `max_running` is the limit that
    the engine states. Totals are counters since its start.
    """

    at_s: float
    running: int | None = None
    waiting: int | None = None
    kv_use: float | None = None
    kv_tokens: int | None = None
    max_running: int | None = None
    preemptions_total: float | None = None
    prefix_queries_total: float | None = None
    prefix_hits_total: float | None = None
    prefix_hit_rate: float | None = None
    prompt_tokens_total: float | None = None
    generation_tokens_total: float | None = None
    adapters_running: tuple[str, ...] | None = None
    adapters_max: int | None = None
    is_sleeping: bool | None = None


class CacheView(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine's KV events have told of its prefix cache.

    `cached_tokens` is None while it is not known what was there before the first event.
    Totals only grow as long as the feed is read, also when the engine starts anew.
    `cleared_total` counts how often everything went or had to be taken for gone;
    `lost_total` of these the times that events were lost.
    """

    cached_tokens: int | None
    evicted_tokens_total: int
    cleared_total: int
    lost_total: int = 0


class EngineLoadView(msgspec.Struct, frozen=True, kw_only=True):
    """One engine's load as routing uses it.

    `load` is None when unknown or older than three polls. `foreign` are requests that
    other clients gave it. `max_concurrent` is how many requests it should hold at one
    time, None for no cap. `timing` is None until something is known, `cache` without a feed
    of KV events.
    """

    name: str
    load: EngineLoad | None = None
    foreign: int = 0
    max_concurrent: int | None = None
    timing: EngineTiming | None = None
    cache: CacheView | None = None


class LoadView(msgspec.Struct, frozen=True):
    """All engines' loads at one moment; `sequence` grows with each published view.

    `limit_use` is what part of their limit answers have by class of limit
    (`domain/lengths.py`), 0 where that is not known.

    From `expires_s` on (monotonic clock, None is never) it is worth no more than `faded`:
    who publishes seems to be gone.
    """

    sequence: int
    engines: tuple[EngineLoadView, ...]
    expires_s: float | None = None
    limit_use: tuple[float, ...] = ()

    def faded(self) -> "LoadView":
        """What stays true without news: caps and speeds, but no counts."""
        engines = tuple(
            msgspec.structs.replace(engine, load=None, foreign=0) for engine in self.engines
        )
        return LoadView(self.sequence, engines, limit_use=self.limit_use)
