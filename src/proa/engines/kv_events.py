"""What engines tell of their prefix caches as it changes: batches of KV events, as bytes.

vLLM (`vllm/distributed/kv_events.py`) and SGLang (`srt/disaggregation/kv_events.py`) send the
same: msgpack of `[ts, events, rank]`. An event is a map with its name under `type`; older
versions send an array that begins with its name. Events of other names are passed over.
"""

from collections.abc import Iterator

import msgspec

BlockHash = int | bytes
SEQUENCE_BYTES = 8
_DEVICE = "GPU"
_MAPS = (*range(0x80, 0x90), 0xDE, 0xDF)  # first bytes of a map in msgpack


class BlocksStored(msgspec.Struct, frozen=True):
    """These blocks can be reused from now on; each holds `block_tokens` tokens."""

    hashes: tuple[BlockHash, ...]
    block_tokens: int


class BlocksRemoved(msgspec.Struct, frozen=True):
    """These blocks have gone."""

    hashes: tuple[BlockHash, ...]


class AllCleared(msgspec.Struct, frozen=True):
    """Nothing can be reused any more."""


KvEvent = BlocksStored | BlocksRemoved | AllCleared


class KvEventBatch(msgspec.Struct, frozen=True):
    """Numbered from 0 by each start of an engine; `events` is None where they were not readable."""

    sequence: int
    events: tuple[KvEvent, ...] | None


class _Batch(msgspec.Struct, array_like=True):
    ts: float
    events: list[msgspec.Raw]


class _Name(msgspec.Struct):
    type: str


class _NameFirst(msgspec.Struct, array_like=True):
    type: str


class _Stored(msgspec.Struct):
    block_hashes: tuple[BlockHash, ...]
    block_size: int
    medium: str | None = None
    group_idx: int | None = None


class _StoredArray(msgspec.Struct, array_like=True):
    type: str
    block_hashes: tuple[BlockHash, ...]
    parent_block_hash: msgspec.Raw
    token_ids: msgspec.Raw
    block_size: int
    lora_id: int | None = None
    medium: str | None = None


class _Removed(msgspec.Struct):
    block_hashes: tuple[BlockHash, ...]
    medium: str | None = None
    group_idx: int | None = None


class _RemovedArray(msgspec.Struct, array_like=True):
    type: str
    block_hashes: tuple[BlockHash, ...]
    medium: str | None = None


_batch = msgspec.msgpack.Decoder(_Batch).decode
_name = msgspec.msgpack.Decoder(_Name).decode
_name_first = msgspec.msgpack.Decoder(_NameFirst).decode
_stored = msgspec.msgpack.Decoder(_Stored).decode
_stored_array = msgspec.msgpack.Decoder(_StoredArray).decode
_removed = msgspec.msgpack.Decoder(_Removed).decode
_removed_array = msgspec.msgpack.Decoder(_RemovedArray).decode


def read_message(frames: list[bytes]) -> KvEventBatch | None:
    """A message of the feed: topic, number and payload. None where it has no number."""
    if len(frames) != 3 or len(frames[1]) != SEQUENCE_BYTES:
        return None
    return KvEventBatch(int.from_bytes(frames[1], "big"), read_events(frames[2]))


def read_events(payload: bytes) -> tuple[KvEvent, ...] | None:
    """The events of one batch, None where it is not in the form of one.

    Only what concerns the GPU's own cache: blocks that were moved to host memory or disk
    have left it already. Of several groups of layers the first stands for all.
    """
    try:
        return tuple(_known(_batch(payload).events))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _known(events: list[msgspec.Raw]) -> Iterator[KvEvent]:
    for raw in events:
        content = bytes(raw)
        is_map = content[0] in _MAPS
        match (_name(content) if is_map else _name_first(content)).type:
            case "BlockStored":
                stored = _stored(content) if is_map else _stored_array(content)
                if _counts(stored):
                    yield BlocksStored(stored.block_hashes, max(0, stored.block_size))
            case "BlockRemoved":
                removed = _removed(content) if is_map else _removed_array(content)
                if _counts(removed):
                    yield BlocksRemoved(removed.block_hashes)
            case "AllBlocksCleared":
                yield AllCleared()


def _counts(event: _Stored | _StoredArray | _Removed | _RemovedArray) -> bool:
    return event.medium in (None, _DEVICE) and not getattr(event, "group_idx", None)
