"""What an engine's KV events amount to: how much its prefix cache holds, and what left it."""

from proa.domain.load import CacheView
from proa.engines.kv_events import (
    AllCleared,
    BlockHash,
    BlocksRemoved,
    BlocksStored,
    KvEvent,
    KvEventBatch,
)

MOST_BLOCKS = 1_000_000
"""So many are known one by one; of an engine with more, the size of the cache is unknown."""


class KvCacheTrack:
    """Takes an engine's batches in their order; `view` is what they have told until now.

    After a gap in their numbers, a batch that cannot be read, or a new start of the engine,
    the cache counts as cleared: a beginning that is read again costs less than a wrong turn.
    """

    def __init__(self, most_blocks: int = MOST_BLOCKS) -> None:
        self._most_blocks = most_blocks
        self._blocks: dict[BlockHash, int] = {}
        self._block_tokens = 0  # of the last block stored
        self._next: int | None = None
        self._is_whole = False
        self._cached_tokens = 0
        self._evicted_tokens = 0
        self._cleared = 0
        self._lost = 0

    @property
    def view(self) -> CacheView | None:
        """None until anything was told."""
        if self._next is None:
            return None
        return CacheView(
            cached_tokens=self._cached_tokens if self._is_whole else None,
            evicted_tokens_total=self._evicted_tokens,
            cleared_total=self._cleared,
            lost_total=self._lost,
        )

    def take(self, batch: KvEventBatch) -> str:
        """The next batch; why the ones before it are worth nothing any more, or an empty text."""
        expected, self._next = self._next, batch.sequence + 1
        problem = ""
        if expected is None:
            self._is_whole = batch.sequence == 0
        elif batch.sequence < expected:
            problem = "the engine counts its batches anew"
            self._clear(is_whole=batch.sequence == 0)
        elif batch.sequence > expected:
            problem = f"{batch.sequence - expected} batches before batch {batch.sequence} are lost"
            self._lose()
        if batch.events is None:
            problem = f"batch {batch.sequence} is not in the form of KV events"
            self._lose()
        for event in batch.events or ():
            self._take(event)
        return problem

    def _take(self, event: KvEvent) -> None:
        match event:
            case BlocksStored():
                for block in event.hashes:
                    self._store(block, event.block_tokens)
            case BlocksRemoved():
                for block in event.hashes:
                    self._remove(block)
            case AllCleared():
                self._clear(is_whole=True)

    def _store(self, block: BlockHash, tokens: int) -> None:
        self._block_tokens = tokens
        self._cached_tokens += tokens - self._blocks.get(block, 0)
        self._blocks[block] = tokens
        if len(self._blocks) > self._most_blocks:
            del self._blocks[next(iter(self._blocks))]
            self._is_whole = False

    def _remove(self, block: BlockHash) -> None:
        """One that is not known was there before, unless everything is: then it was told twice."""
        known = self._blocks.pop(block, 0 if self._is_whole else None)
        self._cached_tokens -= known or 0
        self._evicted_tokens += self._block_tokens if known is None else known

    def _lose(self) -> None:
        self._lost += 1
        self._clear(is_whole=False)

    def _clear(self, *, is_whole: bool) -> None:
        self._cleared += 1
        self._blocks.clear()
        self._cached_tokens = 0
        self._is_whole = is_whole
