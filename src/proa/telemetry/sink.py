"""Whole lines to a file, a pipe or a terminal, without ever waiting for it."""

import os
import select
import socket
import stat
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from fcntl import F_SETPIPE_SZ, fcntl

from proa.errors import InputError

STANDARD_OUTPUT = "-"
_LIMIT_BYTES = 1_048_576
_FLUSH_AT_BYTES = 65_536
_PIPE_BYTES = 1_048_576
_OPEN_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC


class LineSink:
    """Buffers lines and writes them where they belong as far as that takes them.

    What does not fit into the buffer is dropped, whole lines at a time, and counted
    in `dropped`; a line of which a part was written is finished before any other.
    On a pipe no more than PIPE_BUF bytes go out at once, so that lines of several
    processes on one pipe do not mix.
    """

    def __init__(
        self, path: str = STANDARD_OUTPUT, *, limit_bytes: int = _LIMIT_BYTES, stdout: int = 1
    ) -> None:
        """Open `path` for appending; `-` is the descriptor `stdout`.

        Raises:
            InputError: the path cannot be opened.
        """
        self.dropped = 0
        self._path = path
        self._limit_bytes = limit_bytes
        self._lines: deque[bytes] = deque()
        self._started = b""  # bytes to be written before any of `_lines`
        self._is_torn = False  # `_started` begins in the middle of a line
        self._pending_bytes = 0
        self._attach(_duplicate(stdout) if path == STANDARD_OUTPUT else _open(path))

    def append(self, line: bytes) -> None:
        """Take a line, its newline included; it is written at the next flush."""
        size = len(line)
        if self._pending_bytes + size > self._limit_bytes:
            self.flush()
            if self._pending_bytes + size > self._limit_bytes:
                self.dropped += 1
                return
        self._lines.append(line)
        self._pending_bytes += size
        if self._pending_bytes >= _FLUSH_AT_BYTES:
            self.flush()

    def flush(self) -> bool:
        """Write what can be written now; False when something is left for later."""
        while self._started or self._lines:
            if not self._started:
                self._started = self._next_batch()
            try:
                written = self._write(self._started)
            except BlockingIOError:
                return False
            except OSError:  # disk full, reader gone: nobody is left to tell but the counter
                self._drop_all()
                return False
            self._is_torn = self._started[written - 1 : written] != b"\n"
            self._started = self._started[written:]
            self._pending_bytes -= written
        return True

    def reopen(self) -> None:
        """Open the path again, after a log rotation; standard output stays as it is.

        Raises:
            InputError: the path cannot be opened; the old file stays in use.
        """
        if self._path == STANDARD_OUTPUT:
            return
        descriptor = _open(self._path)
        self.flush()
        os.close(self._descriptor)
        self._attach(descriptor)

    def close(self) -> None:
        """Flush as far as possible and close; what is left over counts as dropped."""
        if not self.flush():
            self._drop_all()
        os.close(self._descriptor)

    def _attach(self, descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        self._descriptor = descriptor
        self._batch_bytes = self._limit_bytes if stat.S_ISREG(mode) else select.PIPE_BUF
        self._write = _writer(descriptor, mode)
        if stat.S_ISFIFO(mode):
            with suppress(OSError):  # over the system's limit: the pipe keeps its size
                fcntl(descriptor, F_SETPIPE_SZ, _PIPE_BYTES)

    def _next_batch(self) -> bytes:
        lines = [self._lines.popleft()]
        size = len(lines[0])
        while self._lines and size + len(self._lines[0]) <= self._batch_bytes:
            lines.append(self._lines.popleft())
            size += len(lines[-1])
        return b"".join(lines)

    def _drop_all(self) -> None:
        kept = self._started[: self._started.find(b"\n") + 1] if self._is_torn else b""
        self.dropped += self._started.count(b"\n") - kept.count(b"\n") + len(self._lines)
        self._lines.clear()
        self._started = kept
        self._pending_bytes = len(kept)


def _open(path: str) -> int:
    try:
        return os.open(path, _OPEN_FLAGS | os.O_CREAT, 0o640)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise InputError(f"logs.path = {path!r}: cannot be opened to append: {reason}") from error


def _duplicate(descriptor: int) -> int:
    """A descriptor that does not block, without changing the one that others share.

    A pipe or terminal is opened anew. A regular file is not: two offsets into one
    file would overwrite each other.
    """
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        try:
            return os.open(f"/proc/self/fd/{descriptor}", _OPEN_FLAGS)
        except OSError:  # a container where another user owns the pipe
            os.set_blocking(descriptor, False)
    return os.dup(descriptor)


def _writer(descriptor: int, mode: int) -> Callable[[bytes], int]:
    if not stat.S_ISSOCK(mode):
        return lambda data: os.write(descriptor, data)

    def send(data: bytes) -> int:
        stream = socket.socket(fileno=descriptor)
        try:
            return stream.send(data, socket.MSG_DONTWAIT)
        finally:
            stream.detach()

    return send
