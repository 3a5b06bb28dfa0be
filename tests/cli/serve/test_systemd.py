"""What a service manager hears."""

import socket
from pathlib import Path

import pytest

from proa.cli.serve.systemd import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> "tuple[socket.socket, Notifier]":
    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    heard.bind(str(tmp_path / "notify"))
    heard.settimeout(5)
    return heard, Notifier(str(tmp_path / "notify"))


def test_each_state_is_told(manager: "tuple[socket.socket, Notifier]") -> None:
    heard, notifier = manager
    with heard:
        notifier.ready()
        notifier.alive()
        notifier.stopping()
        assert [heard.recv(99) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"STOPPING=1"]
        notifier.reloading()
        assert heard.recv(99).startswith(b"RELOADING=1\nMONOTONIC_USEC=")


def test_an_abstract_address_is_understood() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind("")  # the kernel chooses an abstract name
        heard.settimeout(5)
        Notifier("@" + heard.getsockname()[1:].decode()).ready()
        assert heard.recv(99) == b"READY=1"


@pytest.mark.parametrize("address", [None, "/nowhere/at/all", "@nobody-listens-here"])
def test_without_a_manager_nothing_happens(address: str | None) -> None:
    Notifier(address).ready()
