"""Blocks of the KV cache: taken, shared, evicted, never more than there are."""

from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.profiles import asked, hashes

from proa.emulator.kv import KvCache
from proa.emulator.sequence import Sequence


def sequence(prompt: int, *names: str) -> Sequence:
    return Sequence(asked(prompt, prefix_hashes=hashes(*names)), 0.0)


def admitted(kv: KvCache, prompt: int, *names: str) -> Sequence:
    new = sequence(prompt, *names)
    assert kv.admit(new, prefix=new.spec.prefix_hashes)
    return new


def test_tokens_take_whole_blocks() -> None:
    kv = KvCache(blocks=4, block_tokens=16)
    first = admitted(kv, 17)
    assert (kv.used_blocks, kv.use) == (2, 0.5)
    assert kv.grow(first, 32)
    assert kv.used_blocks == 2
    assert kv.grow(first, 33)
    assert kv.used_blocks == 3


def test_without_room_nothing_is_taken() -> None:
    kv = KvCache(blocks=2, block_tokens=16)
    first = admitted(kv, 32)
    assert not kv.admit(sequence(1))
    assert not kv.grow(first, 33)
    assert kv.used_blocks == 2
    kv.release(first)
    assert kv.free_blocks == 2


def test_a_reservation_counts_where_it_is_larger() -> None:
    kv = KvCache(blocks=4, block_tokens=16)
    assert kv.admit(sequence(1), reserve_tokens=64)
    assert kv.free_blocks == 0


def test_a_computed_prompt_is_found_by_the_next_one() -> None:
    kv = KvCache(blocks=8, block_tokens=16)
    first = admitted(kv, 40, "a", "b")
    kv.share_prompt(first)
    second = admitted(kv, 40, "a", "b")
    assert second.computed == 32
    assert kv.used_blocks == 4  # two shared, and the last one of each


def test_the_last_token_is_always_computed() -> None:
    kv = KvCache(blocks=8, block_tokens=16)
    first = admitted(kv, 32, "a", "b")
    kv.share_prompt(first)
    kv.release(first)
    assert admitted(kv, 32, "a", "b").computed == 16


def test_a_prefix_that_nobody_holds_stays_until_its_room_is_needed() -> None:
    kv = KvCache(blocks=4, block_tokens=16)
    first = admitted(kv, 33, "a", "b")
    kv.share_prompt(first)
    kv.release(first)
    assert kv.free_blocks == 4
    admitted(kv, 48, "x", "y", "z")  # evicts the end of the old prefix, keeps its beginning
    again = sequence(17, "a")
    assert not kv.admit(again, prefix=again.spec.prefix_hashes)
    assert kv.free_blocks == 1


def test_a_second_copy_of_a_block_stays_private() -> None:
    kv = KvCache(blocks=8, block_tokens=16)
    first, second = admitted(kv, 20, "a"), admitted(kv, 20, "a")
    kv.share_prompt(first)
    kv.share_prompt(second)
    assert (first.shared_blocks, second.shared_blocks) == ([b"a"], [])
    kv.release(first)
    kv.release(second)
    assert kv.free_blocks == 8


@given(st.lists(st.tuples(st.integers(1, 80), st.integers(0, 3), st.booleans()), max_size=40))
def test_no_block_is_lost_or_made(steps: list[tuple[int, int, bool]]) -> None:
    kv = KvCache(blocks=12, block_tokens=16)
    held: list[Sequence] = []
    for tokens, family, releases in steps:
        if releases and held:
            kv.release(held.pop(0))
            continue
        names = [f"{family}.{block}" for block in range(tokens // 16)]
        new = sequence(tokens, *names)
        if kv.admit(new, prefix=new.spec.prefix_hashes):
            kv.share_prompt(new)
            held.append(new)
        assert 0 <= kv.used_blocks <= kv.blocks
        shared = {block for one in held for block in one.shared_blocks}
        assert kv.used_blocks == len(shared) + sum(one.private_blocks for one in held)
    for one in held:
        kv.release(one)
    assert kv.free_blocks == kv.blocks
