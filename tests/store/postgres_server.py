"""A real PostgreSQL in a directory of its own, on a socket of its own; gone with the test."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest


@cache
def binaries() -> Path | None:
    """The newest installed server's programs; Debian does not put them on PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[4])
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def missing() -> str:
    """Why there is no PostgreSQL here, empty where there is; CI has to have one."""
    if binaries() is not None or os.environ.get("CI"):
        return ""
    return "PostgreSQL is not installed: make setup-system"


needs_postgres = pytest.mark.skipif(bool(missing()), reason=missing() or "PostgreSQL")


class PostgresServer:
    """`url` reaches the database `postgres` over a socket file; it can be stopped and started."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._data = directory / "data"
        self.url = f"postgresql://postgres@/postgres?host={directory}"
        found = binaries()
        assert found is not None, "make setup-system installs PostgreSQL"
        self._binaries = found
        if os.getuid() == 0:  # the server refuses root
            shutil.chown(directory, "postgres", "postgres")

    def run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), "-D", str(self._data), *arguments]
        user = "postgres" if os.getuid() == 0 else None
        subprocess.run(
            command, check=True, capture_output=True, user=user, group=user,
            cwd=self._directory, extra_groups=[] if user else None,
        )  # fmt: skip

    def start(self) -> None:
        options = f"-c listen_addresses='' -c fsync=off -k {self._directory}"
        log = str(self._directory / "log")
        self.run("pg_ctl", "-w", "-l", log, "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "stop")


@contextmanager
def postgres() -> Iterator[PostgresServer]:
    """Made, started, and stopped in the end."""
    with tempfile.TemporaryDirectory(prefix="proa-pg-") as name:  # a short path: socket files
        server = PostgresServer(Path(name))
        server.run("initdb", "-A", "trust", "-U", "postgres", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            server.stop()
