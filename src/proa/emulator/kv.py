"""The KV cache in blocks: what is held, what is shared as a prefix, what can be evicted.

A block is blank, private to one sequence, or shared under the hash of the prompt up to
its end. Shared blocks that no sequence holds stay until their room is needed; the one
unused for longest goes first.
Source: vLLM's block pool and prefix caching, docs/design/prefix_caching.md.
"""

from proa.emulator.sequence import Sequence


class KvCache:
    """Capacity and use, counted in blocks.

    Not modelled:
        generated tokens as prefixes of later prompts; copies of a block on the host.
    """

    def __init__(self, *, blocks: int, block_tokens: int) -> None:
        self.blocks = blocks
        self.block_tokens = block_tokens
        self._blank = blocks
        self._holders: dict[bytes, int] = {}
        self._idle: dict[bytes, None] = {}

    @property
    def free_blocks(self) -> int:
        """Blank ones and prefixes that nobody holds."""
        return self._blank + len(self._idle)

    @property
    def used_blocks(self) -> int:
        return self.blocks - self.free_blocks

    @property
    def use(self) -> float:
        """Share of the blocks that running sequences hold, 0 to 1."""
        return self.used_blocks / self.blocks

    def blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.block_tokens)

    def admit(
        self, sequence: Sequence, *, prefix: tuple[bytes, ...] = (), reserve_tokens: int = 0
    ) -> bool:
        """Give blocks for all tokens of a sequence, or for `reserve_tokens` if more; or none.

        Blocks of `prefix` that are cached count as computed, but the last token is
        always computed, because something must produce the next one.
        """
        cached = self._cached(prefix, most=(sequence.tokens - 1) // self.block_tokens)
        wanted = self.blocks_for(max(sequence.tokens, reserve_tokens)) - len(cached)
        idle = sum(block in self._idle for block in cached)
        if wanted > self.free_blocks - idle:
            return False
        for block in cached:
            self._hold(block)
        self._take(wanted)
        sequence.shared_blocks = cached
        sequence.private_blocks = wanted
        sequence.computed = len(cached) * self.block_tokens
        return True

    def grow(self, sequence: Sequence, tokens: int) -> bool:
        """See to it that a sequence has room for `tokens`; False when no block is free."""
        held = len(sequence.shared_blocks) + sequence.private_blocks
        if tokens <= held * self.block_tokens:
            return True
        wanted = self.blocks_for(tokens) - held
        if wanted > self.free_blocks:
            return False
        self._take(wanted)
        sequence.private_blocks += wanted
        return True

    def share_prompt(self, sequence: Sequence) -> None:
        """Make the computed full blocks of a prompt findable for later prompts."""
        for block in sequence.spec.prefix_hashes[len(sequence.shared_blocks) :]:
            if block in self._holders or block in self._idle:
                return  # another one computed the same meanwhile: this copy stays private
            self._holders[block] = 1
            sequence.shared_blocks.append(block)
            sequence.private_blocks -= 1

    def release(self, sequence: Sequence) -> None:
        """Give a sequence's blocks back; the end of its prefix is evicted before its beginning."""
        self._blank += sequence.private_blocks
        for block in reversed(sequence.shared_blocks):
            self._holders[block] -= 1
            if not self._holders[block]:
                del self._holders[block]
                self._idle[block] = None
        sequence.private_blocks, sequence.shared_blocks = 0, []

    def _cached(self, prefix: tuple[bytes, ...], *, most: int) -> list[bytes]:
        found: list[bytes] = []
        for block in prefix[:most]:
            if block not in self._holders and block not in self._idle:
                break
            found.append(block)
        return found

    def _hold(self, block: bytes) -> None:
        self._idle.pop(block, None)
        self._holders[block] = self._holders.get(block, 0) + 1

    def _take(self, count: int) -> None:
        from_blank = min(count, self._blank)
        self._blank -= from_blank
        for _ in range(count - from_blank):
            del self._idle[next(iter(self._idle))]
