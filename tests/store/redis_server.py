"""A real Redis or Valkey on a socket of its own; gone with the test."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis, RedisError

_WITHIN_S = 10.0


def _binary() -> str | None:
    return shutil.which("redis-server") or shutil.which("valkey-server")


def _missing() -> str:
    """Why there is none here, empty where there is; CI has to have one."""
    if _binary() is not None or os.environ.get("CI"):
        return ""
    return "redis-server is not installed: make setup-system"


needs_redis = pytest.mark.skipif(bool(_missing()), reason=_missing() or "Redis")


class RedisServer:
    """`url` reaches it over a socket file; it can be stopped and started, and forgets nothing."""

    def __init__(self, directory: Path) -> None:
        self._socket = directory / "redis"
        self._directory = directory
        self.url = f"unix://{self._socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        binary = _binary()
        assert binary is not None, "make setup-system installs Redis"
        self._process = subprocess.Popen(
            [binary, "--port", "0", "--unixsocket", str(self._socket), "--appendonly", "yes",
             "--save", "", "--dir", str(self._directory), "--logfile", "log"],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + _WITHIN_S
        while not self._answers():
            assert self._process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)

    def _answers(self) -> bool:
        """Whether it is up, with all that it remembers."""
        client = Redis.from_url(self.url)
        try:
            return bool(client.ping())
        except RedisError:
            return False
        finally:
            client.close()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_WITHIN_S)
            self._process = None


@contextmanager
def redis() -> Iterator[RedisServer]:
    """Started, and stopped in the end."""
    with tempfile.TemporaryDirectory(prefix="proa-redis-") as name:
        server = RedisServer(Path(name))
        server.start()
        try:
            yield server
        finally:
            server.stop()
