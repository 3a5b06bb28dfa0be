"""Replies of real engines, recorded; the first line of each file names the engine and request."""

from pathlib import Path

import msgspec

from proa.engines.sources import Reply

_DATA = Path(__file__).parent / "data"


def recorded(name: str) -> Reply:
    """`engine/file` as the reply that the engine gave."""
    head, _, body = (_DATA / f"{name}.txt").read_bytes().partition(b"\n\n")
    status = int(head.splitlines()[1].split()[1])
    return Reply(status, body.removesuffix(b"\n"))


def recorded_events(name: str) -> list[bytes]:
    """The data of each event of a recorded stream."""
    lines = recorded(name).body.splitlines()
    return [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]


def fields(raw: msgspec.Raw) -> dict[str, object]:
    """A model card decoded."""
    return msgspec.json.decode(raw, type=dict[str, object])
