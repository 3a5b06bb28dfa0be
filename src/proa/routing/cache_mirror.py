"""What left the engines' caches leaves the index of prompts' beginnings, too.

Engines tell evictions in tokens and hashes of their own, the index is made of bytes. So only the
amounts are mirrored: both forget what was used least recently.
"""

from collections.abc import Sequence
from math import ceil

from proa.domain.load import CacheView, EngineLoadView
from proa.routing.prefix import BLOCK_BYTES, PrefixIndex
from proa.routing.speeds import DEFAULT_BYTES_PER_TOKEN

WORTH_FORGETTING = 1 / 64
"""Smaller shares wait until they add up: the totals lose nothing, and each look takes time."""
BELIEVED_AT_MOST = 2.0
"""Times what is cached: how many bytes a token has is an estimate."""
UNDER_WAY_BLOCKS = 4096
"""What was sent and is not read yet, on top of that: 1 MiB."""


class CacheMirror:
    """Applies what is new in each view to a worker's index.

    With C cached tokens and E evicted since, E of the C + E that were there have gone. The same
    share of the engine's blocks in the index goes: it knows only a part of the cache, which
    also holds answers and prompts of others. Without C it is what the engine has room for,
    and without that E tokens' worth of blocks.
    """

    def __init__(self, index: PrefixIndex) -> None:
        self._index = index
        self._applied: dict[str, CacheView] = {}

    def apply(self, engines: Sequence[EngineLoadView]) -> None:
        """Take in a new view; engines without a feed are left alone."""
        old, self._applied = self._applied, {}
        for engine in engines:
            if engine.cache is not None:
                before = old.get(engine.name, engine.cache)
                is_applied = self._follow(engine, before, engine.cache)
                self._applied[engine.name] = engine.cache if is_applied else before

    def _follow(self, engine: EngineLoadView, before: CacheView, now: CacheView) -> bool:
        """Forget what has gone since `before`, unless that is too little."""
        if _is_cleared(before, now):
            self._index.forget(engine.name)
            return True
        count = self._index.count(engine.name)
        share = evicted_share(engine, now.evicted_tokens_total - before.evicted_tokens_total, count)
        if share < WORTH_FORGETTING:
            return False
        leaves = max(ceil(count * share), count - believed_blocks(engine, now))
        self._index.forget_oldest(engine.name, leaves)
        return True


def evicted_share(engine: EngineLoadView, tokens: int, blocks: int) -> float:
    """The part of `blocks` in the index that `tokens` evicted by the engine stand for."""
    held = engine.cache.cached_tokens if engine.cache is not None else None
    if held is None and engine.load is not None:
        held = engine.load.kv_tokens
    if held is not None:
        return tokens / max(1, held + tokens)
    return min(1.0, tokens * _bytes_per_token(engine) / (BLOCK_BYTES * max(1, blocks)))


def believed_blocks(engine: EngineLoadView, cache: CacheView) -> int:
    """How many blocks the engine can have at most, by what it has cached."""
    if cache.cached_tokens is None:
        return 1 << 62
    cached = cache.cached_tokens * _bytes_per_token(engine) / BLOCK_BYTES
    return UNDER_WAY_BLOCKS + int(BELIEVED_AT_MOST * cached)


def _bytes_per_token(engine: EngineLoadView) -> float:
    known = engine.timing.bytes_per_token if engine.timing is not None else None
    return known or DEFAULT_BYTES_PER_TOKEN


def _is_cleared(before: CacheView, now: CacheView) -> bool:
    """Also where totals begin anew: another feed under the same name."""
    return (
        now.cleared_total != before.cleared_total
        or now.evicted_tokens_total < before.evicted_tokens_total
    )
