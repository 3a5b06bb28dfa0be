"""The index of prompts' beginnings: longest common runs, bounded memory, engines by name."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.routing import fleets

from proa.routing.prefix import BLOCK_BYTES, MOST_BLOCKS, PrefixIndex, prefix_hashes

PROMPTS = st.lists(st.sampled_from([b"a", b"b"]), max_size=8).map(
    lambda blocks: b"".join(block * BLOCK_BYTES for block in blocks)
)


def common_blocks(one: bytes, other: bytes) -> int:
    count = 0
    while (count + 1) * BLOCK_BYTES <= min(len(one), len(other)) and one[
        : (count + 1) * BLOCK_BYTES
    ] == other[: (count + 1) * BLOCK_BYTES]:
        count += 1
    return count


@given(
    given=st.lists(st.tuples(PROMPTS, st.sampled_from("xyz")), max_size=12),
    asked=PROMPTS,
    rest=st.binary(max_size=BLOCK_BYTES - 1),
)
def test_it_is_the_longest_common_beginning(
    given: list[tuple[bytes, str]], asked: bytes, rest: bytes
) -> None:
    index = PrefixIndex()
    for prompt, engine in given:
        index.record(prefix_hashes(prompt), engine, 10_000)
    for engine in "xyz":
        longest = max((common_blocks(asked, p) for p, e in given if e == engine), default=0)
        assert index.matched(prefix_hashes(asked + rest), engine) == longest


@given(prompts=st.lists(PROMPTS, max_size=20), most=st.integers(1, 10))
def test_its_memory_is_bounded_and_keeps_beginnings(prompts: list[bytes], most: int) -> None:
    index = PrefixIndex()
    for prompt in prompts:
        index.record(prefix_hashes(prompt), "x", most)
        assert len(index) <= most
        blocks = prefix_hashes(prompt)
        assert index.matched(blocks, "x") == min(len(blocks), most)


def test_only_so_much_of_a_prompt_is_looked_at() -> None:
    long = b"x" * (BLOCK_BYTES * MOST_BLOCKS + 5000)
    assert len(prefix_hashes(long)) == MOST_BLOCKS
    assert prefix_hashes(b"x" * (BLOCK_BYTES - 1)) == ()


def test_an_engine_that_started_anew_is_forgotten() -> None:
    index, blocks = PrefixIndex(), prefix_hashes(b"a" * 2000)
    index.record(blocks, "x", 100)
    index.record(blocks, "y", 100)
    views = [msgspec.structs.replace(fleets.engine(name), ready_since_s=1.0) for name in "xy"]
    index.know(views)
    index.know(views)
    assert index.matched(blocks, "x") == 7
    index.know([msgspec.structs.replace(views[0], ready_since_s=9.0), views[1]])
    assert (index.matched(blocks, "x"), index.matched(blocks, "y")) == (0, 7)


@given(
    given=st.lists(st.tuples(PROMPTS, st.sampled_from("xyz")), max_size=12),
    engine=st.sampled_from("wxyz"),
    blocks=st.integers(0, 12),
)
def test_what_is_forgotten_of_one_engine_is_its_oldest_and_nothing_of_the_others(
    given: list[tuple[bytes, str]], engine: str, blocks: int
) -> None:
    index, used = PrefixIndex(), dict[str, dict[int, None]]()
    order: dict[int, None] = {}
    for prompt, name in given:
        index.record(prefix_hashes(prompt), name, 10_000)
        for block in reversed(prefix_hashes(prompt)):
            order.pop(block, None)
            order[block] = None
            used.setdefault(name, {})[block] = None
    index.forget_oldest(engine, blocks)
    oldest = [block for block in order if block in used.get(engine, {})][:blocks]
    for name, theirs in used.items():
        gone = set(oldest) if name == engine else set[int]()
        for block in theirs:
            assert index.matched([block], name) == (block not in gone)
    left = {name: len(theirs) for name, theirs in used.items() if theirs}
    if engine in left:
        left[engine] -= len(oldest)
    assert {name: index.count(name) for name in left} == left


@given(
    steps=st.lists(st.tuples(PROMPTS, st.sampled_from("xyz"), st.integers(0, 3)), max_size=12),
    most=st.integers(1, 12),
)
def test_blocks_are_counted_as_they_come_and_go(
    steps: list[tuple[bytes, str, int]], most: int
) -> None:
    index, blocks = PrefixIndex(), set[int]()
    for prompt, engine, leaves in steps:
        blocks.update(prefix_hashes(prompt))
        index.record(prefix_hashes(prompt), engine, most)
        index.forget_oldest("x", leaves)
        if leaves == 3:
            index.forget(engine)
    for engine in "wxyz":
        assert index.count(engine) == sum(index.matched([block], engine) for block in blocks)
