"""Records on their way from a worker to the supervisor."""

import struct

import msgspec
import pytest

from proa.domain.request_record import RequestRecord
from proa.gateway import recorder as module
from proa.gateway.messages import Records
from proa.gateway.recorder import Recorder
from proa.telemetry.rows import HEADER_CELLS, Header


class FakeChannel:
    """A transport whose other side reads when it is told to."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.unread_bytes = 0

    def write(self, data: bytes) -> None:
        self.frames.append(data)

    def get_write_buffer_size(self) -> int:
        return self.unread_bytes

    def records(self) -> list[str]:
        told = []
        for frame in self.frames:
            (length,) = struct.unpack_from("!I", frame)
            message = msgspec.json.decode(frame[4 : 4 + length], type=Records)
            told += [(kept.record.request_id, kept.ended_s) for kept in message.requests]
        return [name for name, at_s in told if at_s == 1000.5]


def record(name: str, path: str = "/v1/chat/completions") -> RequestRecord:
    return RequestRecord(
        request_id=name, method="POST", path=path, status=200, outcome="ok", duration_ms=1.23456
    )


@pytest.fixture
def channel() -> FakeChannel:
    return FakeChannel()


@pytest.fixture
def counts() -> list[int]:
    return [0] * HEADER_CELLS


@pytest.fixture
def recorder(channel: FakeChannel, counts: list[int]) -> Recorder:
    return Recorder(channel, counts, lambda: 1000.5)


def test_records_go_together_in_order(recorder: Recorder, channel: FakeChannel) -> None:
    names = [str(number) for number in range(5000)]
    for name in names:
        recorder.take(record(name))
    assert channel.frames == []
    recorder.flush()
    assert channel.records() == names
    assert len(channel.frames) == 3


def test_a_supervisor_that_reads_nothing_costs_records_and_nothing_else(
    recorder: Recorder, channel: FakeChannel, counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    channel.unread_bytes = module.MOST_UNREAD_BYTES
    for name in "abc":
        recorder.take(record(name))
    recorder.flush()
    assert (channel.frames, counts[Header.RECORDS_DROPPED]) == ([], 1)
    channel.unread_bytes = 0
    recorder.flush()
    assert channel.records() == ["a", "b"]


def test_a_record_is_cut_to_its_bounds(recorder: Recorder) -> None:
    told = record("a", path="/v1/x?key=secret")
    recorder.take(told)
    assert (told.path, told.duration_ms) == ("/v1/x", 1.2)
