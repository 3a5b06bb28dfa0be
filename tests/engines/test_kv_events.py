"""Batches of KV events as vLLM and SGLang write them, in both forms, and bytes that are none."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.engines.kv_events import (
    AllCleared,
    BlocksRemoved,
    BlocksStored,
    KvEventBatch,
    read_events,
    read_message,
)

DATA = Path(__file__).parent / "data"
MAPS: list[dict[str, object]] = [
    {
        "type": "BlockStored",
        "block_hashes": [1, b"\x02" * 32],
        "parent_block_hash": None,
        "token_ids": [7] * 32,
        "block_size": 16,
        "lora_id": None,
    },
    {"type": "BlockRemoved", "block_hashes": [1]},
    {"type": "AllBlocksCleared"},
]
ARRAYS: list[object] = [
    ["BlockStored", [1, b"\x02" * 32], None, [7] * 32, 16, None],
    ["BlockRemoved", [1]],
    ["AllBlocksCleared"],
]
READ = (BlocksStored((1, b"\x02" * 32), 16), BlocksRemoved((1,)), AllCleared())


def batch(*events: object) -> bytes:
    return msgspec.msgpack.encode([1764500000.25, events, 0])


@pytest.mark.parametrize("events", [MAPS, ARRAYS], ids=["maps", "arrays"])
def test_both_forms(events: Sequence[object]) -> None:
    assert read_events(batch(*events)) == READ


def test_arrays_with_all_that_versions_have_added() -> None:
    stored = ["BlockStored", [1], None, [7] * 4, 4, None, "GPU", "law", [None], 0]
    assert read_events(batch(stored, ["BlockRemoved", [1], "GPU"])) == (
        BlocksStored((1,), 4),
        BlocksRemoved((1,)),
    )


@pytest.mark.parametrize(
    ("engine", "events"),
    [
        ("vllm", (BlocksStored((0xF123456789ABCDEF, 2), 16), BlocksRemoved((2,)), AllCleared())),
        (
            "sglang",
            (
                BlocksStored((-5,), 4),
                BlocksStored((6,), 4),
                BlocksRemoved((6, -5)),
                AllCleared(),
            ),
        ),
    ],
)
def test_what_the_engines_own_classes_write(engine: str, events: tuple[object, ...]) -> None:
    head, _, text = (DATA / engine / "kv_events.txt").read_text().partition("\n\n")
    assert "KVEventBatch" in head
    assert read_events(bytes.fromhex(text)) == events


@pytest.mark.parametrize("medium", ["CPU", "CPU_PINNED", "DISK", "EXTERNAL", "STORAGE"])
def test_other_tiers_than_the_gpus_own_are_passed_over(medium: str) -> None:
    assert read_events(batch(*(event | {"medium": medium} for event in MAPS[:2]))) == ()
    assert read_events(batch(["BlockRemoved", [1], medium])) == ()


def test_one_group_of_layers_stands_for_all() -> None:
    assert read_events(batch(*(e | {"group_idx": n} for e in MAPS[:2] for n in (0, 1)))) == READ[:2]


def test_events_of_other_names_are_passed_over() -> None:
    others = [{"type": "BlockMoved", "to": [1]}, ["BlockPinned", [1], {}], MAPS[2]]
    assert read_events(batch(*others)) == (AllCleared(),)
    assert read_events(batch()) == ()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        b"{}",
        batch(*MAPS)[:-1],
        batch(*MAPS) + b"\x00",
        msgspec.msgpack.encode({"ts": 1.0, "events": []}),
        batch("BlockStored"),
        batch([]),
        batch({"block_hashes": [1]}),
        batch({"type": "BlockStored", "block_hashes": [1]}),
        batch({"type": "BlockRemoved", "block_hashes": [[]]}),
        batch(["BlockStored", [1], None, [1], "16", None]),
    ],
)
def test_what_is_no_batch(payload: bytes) -> None:
    assert read_events(payload) is None


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda tail: batch(*MAPS)[:40] + tail))
def test_any_bytes_are_a_batch_or_none(payload: bytes) -> None:
    events = read_events(payload)
    assert events is None or isinstance(events, tuple)


def test_messages() -> None:
    payload, number = batch(MAPS[2]), (2**40 + 3).to_bytes(8, "big")
    read = read_message([b"topic", number, payload])
    assert read == KvEventBatch(2**40 + 3, (AllCleared(),))
    assert read_message([b"", number, b"?"]) == KvEventBatch(2**40 + 3, None)
    assert read_message([number, payload]) is None
    assert read_message([b"", number[1:], payload]) is None
    assert read_message([b"", number, payload, b""]) is None
