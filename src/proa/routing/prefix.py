"""Which engines have seen the beginning of a prompt: a prefix tree in one bounded table.

A prompt is cut into blocks of bytes. A block's hash takes in all blocks before it, so
that one entry stands for one path from the root, and a table of hashes is the tree.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from proa.domain.fleet import EngineView

BLOCK_BYTES = 256
MOST_BLOCKS = 256


def prefix_hashes(prompt: bytes | memoryview) -> tuple[int, ...]:
    """Hashes of a prompt's whole blocks, of the first 64 KiB; each includes all before it.

    They mean something only in the process that made them.
    """
    return tuple(_chained(prompt))


def _chained(prompt: bytes | memoryview) -> Iterator[int]:
    before = 0
    end = min(len(prompt), MOST_BLOCKS * BLOCK_BYTES) - BLOCK_BYTES + 1
    for start in range(0, end, BLOCK_BYTES):
        before = hash((before, bytes(prompt[start : start + BLOCK_BYTES])))
        yield before


class PrefixIndex:
    """Which engines were given which blocks; the least recently used blocks are forgotten.

    Engines are bits, by name: the index outlives their order in the fleet.
    """

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}  # in the order of their last use
        self._bits: dict[str, int] = {}
        self._counts: dict[int, int] = {}  # by bit
        self._ready_since_s: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def know(self, engines: Sequence[EngineView]) -> None:
        """A new view: an engine that came back since the last one has an empty cache."""
        for engine in engines:
            before = self._ready_since_s.get(engine.name)
            if before is not None and before != engine.ready_since_s:
                self.forget(engine.name)
            self._ready_since_s[engine.name] = engine.ready_since_s

    def matched(self, prefix: Sequence[int], engine: str) -> int:
        """How many leading blocks the engine has seen, all in a row."""
        bit = self._bits.get(engine, 0)
        get = self._seen.get
        if not bit:
            return 0
        for count, block in enumerate(prefix):
            if not get(block, 0) & bit:
                return count
        return len(prefix)

    def record(self, prefix: Sequence[int], engine: str, most_blocks: int) -> None:
        """The engine gets a prompt with these blocks; a beginning is kept longer than its ends."""
        bit = self._bits.get(engine)
        if bit is None:
            bit = self._bits[engine] = 1 << len(self._bits)
            self._counts[bit] = 0
        seen, new = self._seen, 0
        for block in reversed(prefix):
            mask = seen.pop(block, 0)
            new += not mask & bit
            seen[block] = mask | bit
        self._counts[bit] += new
        while len(seen) > most_blocks:
            mask = seen.pop(next(iter(seen)))
            while mask:
                bit = mask & -mask
                self._counts[bit] -= 1
                mask -= bit

    def forget(self, engine: str) -> None:
        """The engine's cache is empty."""
        bit = self._bits.get(engine, 0)
        if bit:
            self._seen = {block: left for block, m in self._seen.items() if (left := m & ~bit)}
            self._counts[bit] = 0

    def count(self, engine: str) -> int:
        """How many blocks the engine is thought to have."""
        return self._counts.get(self._bits.get(engine, 0), 0)

    def forget_oldest(self, engine: str, blocks: int) -> None:
        """So many of the engine's least recently used blocks are gone."""
        bit, seen = self._bits.get(engine, 0), self._seen
        oldest = list(islice((block for block, mask in seen.items() if mask & bit), max(0, blocks)))
        for block in oldest:
            if left := seen[block] & ~bit:
                seen[block] = left
            else:
                del seen[block]
        if oldest:
            self._counts[bit] -= len(oldest)
