"""Lines that go out whole, in order, or not at all, whoever is slow at the other end."""

import os
import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.errors import InputError
from proa.telemetry.sink import LineSink


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    yield reader, writer
    os.close(reader)
    os.close(writer)


def drain(reader: int) -> bytes:
    """All that is in a pipe now."""
    taken = b""
    while True:
        try:
            data = os.read(reader, 1_048_576)
        except BlockingIOError:
            return taken
        if not data:
            return taken
        taken += data


def test_a_file_is_appended_to_and_private(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_bytes(b"old\n")
    sink = LineSink(str(path))
    sink.append(b"new\n")
    assert sink.flush()
    assert path.read_bytes() == b"old\nnew\n"
    fresh = tmp_path / "fresh.log"
    LineSink(str(fresh)).close()
    assert stat.S_IMODE(fresh.stat().st_mode) & 0o007 == 0


def test_reopen_after_rotation_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    sink = LineSink(str(path))
    sink.append(b"one\n")
    path.rename(tmp_path / "requests.log.1")
    sink.reopen()
    sink.append(b"two\n")
    sink.close()
    assert (tmp_path / "requests.log.1").read_bytes() == b"one\n"
    assert path.read_bytes() == b"two\n"


def test_a_path_that_cannot_be_opened_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"logs\.path = .*missing.*No such file"):
        LineSink(str(tmp_path / "missing" / "requests.log"))


def test_a_failed_reopen_keeps_the_old_file(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    sink = LineSink(str(folder / "a.log"))
    folder.rename(tmp_path / "moved")
    with pytest.raises(InputError):
        sink.reopen()
    sink.append(b"still here\n")
    assert sink.flush()
    assert (tmp_path / "moved" / "a.log").read_bytes() == b"still here\n"


def test_a_blocked_pipe_drops_whole_lines_and_counts(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    sink = LineSink(stdout=writer, limit_bytes=10_000)
    lines = [b"%06d %b\n" % (n, b"x" * 492) for n in range(4000)]  # 2 MB into at most 1 MiB
    for line in lines:
        sink.append(line)
    assert not sink.flush()
    received = drain(reader)
    sink.flush()
    received += drain(reader)
    assert received.splitlines(keepends=True) == lines[: len(lines) - sink.dropped]
    assert sink.dropped > 1000
    sink.append(b"after\n")
    assert sink.flush()
    assert drain(reader) == b"after\n"


def test_what_is_left_at_the_end_is_counted(pipe: tuple[int, int]) -> None:
    _, writer = pipe
    sink = LineSink(stdout=writer, limit_bytes=3_000_000)
    for _ in range(3):
        sink.append(b"a" * 900_000 + b"\n")
    sink.close()
    assert sink.dropped == 1  # one went out, one is torn, one never began


def test_a_torn_line_is_finished_first(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    sink = LineSink(stdout=writer, limit_bytes=3_000_000)
    long_line = b"a" * 2_000_000 + b"\n"  # more than a pipe holds: it goes out in parts
    sink.append(long_line)
    sink.append(b"next\n")
    received = b""
    while not sink.flush():
        received += drain(reader)
    assert received + drain(reader) == long_line + b"next\n"
    assert sink.dropped == 0


def test_the_shared_standard_output_stays_blocking(pipe: tuple[int, int]) -> None:
    _, writer = pipe
    LineSink(stdout=writer).close()
    assert os.get_blocking(writer)


def test_no_half_line_when_two_processes_share_a_pipe(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    sinks = [LineSink(stdout=writer) for _ in range(2)]
    for n in range(3000):
        for name, sink in zip(b"ab", sinks, strict=True):
            sink.append(b"%c%06d %b\n" % (name, n, b"-" * 300))
        if n % 500 == 0:
            drained = drain(reader)
            assert drained == b"" or drained.endswith(b"\n")
    received = b""
    while not all(sink.flush() for sink in sinks):
        received += drain(reader)
    received += drain(reader)
    assert {len(line) for line in received.splitlines()} == {308}


def test_a_reader_that_left_is_counted_not_raised() -> None:
    reader, writer = os.pipe()
    sink = LineSink(stdout=writer)
    os.close(reader)
    for _ in range(3):
        sink.append(b"line\n")
    assert not sink.flush()
    assert sink.dropped == 3
    os.close(writer)


def test_a_full_disk_leaves_no_half_line_between_others(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    sink = LineSink(str(path))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12, limits[1]))
    try:
        for line in (b"one\n", b"twotwotwo\n", b"three\n"):
            sink.append(line)
        assert not sink.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    sink.append(b"four\n")
    assert sink.flush()
    assert path.read_bytes() == b"one\ntwotwotwo\nfour\n"
    assert sink.dropped == 1


def test_a_socket_as_standard_output() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sink = LineSink(stdout=ours.fileno())
        sink.append(b"to the journal\n")
        assert sink.flush()
        assert theirs.recv(100) == b"to the journal\n"
        assert ours.getblocking()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 9000), max_size=60), st.integers(1000, 50_000))
def test_what_arrives_is_a_subsequence_of_whole_lines(sizes: list[int], limit: int) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    try:
        sink = LineSink(stdout=writer, limit_bytes=limit)
        lines = [b"%04d" % n + b"y" * size + b"\n" for n, size in enumerate(sizes)]
        for line in lines:
            sink.append(line)
        received = b""
        while not sink.flush():
            received += drain(reader)
        arrived = (received + drain(reader)).splitlines(keepends=True)
        assert all(line in lines for line in arrived)
        assert arrived == sorted(arrived)
        assert len(arrived) + sink.dropped == len(lines)
        sink.close()
    finally:
        os.close(reader)
        os.close(writer)
