"""What a worker and its guard helper say to each other: a length-prefixed head, then raw bytes."""

import struct

import msgspec

from proa.guard.detectors import DetectorSpec
from proa.guard.limits import BrokenLimit
from proa.guard.policy import GuardRule
from proa.routing.tokens import Features
from proa.wire.fields import RequestFields

LENGTHS = struct.Struct("!II")


class Search(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Find what a request's body holds, and keep it for what `Act` says; the body follows."""

    job: int
    path: bytes
    content_type: bytes
    detectors: tuple[DetectorSpec, ...] = ()


class Act(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Do with a searched body what a rule says."""

    job: int
    rule: GuardRule


class Edit(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Mask and restore in an answer, which follows; `originals` are the tokens of its request."""

    job: int
    rule: GuardRule
    content_type: bytes
    originals: dict[str, str]
    detectors: tuple[DetectorSpec, ...] = ()


class Drop(msgspec.Struct, tag=True, frozen=True):
    """Nobody waits for this any more."""

    job: int


class Found(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """A body is searched: findings by type, and what routing needs of it."""

    job: int
    counts: dict[str, int]
    fields: RequestFields
    features: Features | None = None


class Done(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """What became of a request's or an answer's body, which follows unless it `is_same`.

    `counts` has the findings that the rule does not pass over. `originals`: by their tokens.
    """

    job: int
    counts: dict[str, int]
    is_same: bool
    is_media_blocked: bool = False
    broken: BrokenLimit | None = None
    originals: dict[str, str] = {}


class Failed(msgspec.Struct, tag=True, frozen=True):
    """Nothing of the body may pass; `unreadable` is why it cannot be searched, for its sender."""

    job: int
    unreadable: str = ""


Order = Search | Act | Edit | Drop
Reply = Found | Done | Failed

_encode = msgspec.msgpack.Encoder().encode
read_order = msgspec.msgpack.Decoder(Order).decode
read_reply = msgspec.msgpack.Decoder(Reply).decode


def head_of(message: Order | Reply, body_bytes: int) -> bytes:
    """A message up to its body."""
    head = _encode(message)
    return LENGTHS.pack(len(head), body_bytes) + head
