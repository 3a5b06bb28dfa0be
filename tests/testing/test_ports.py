"""Ports that refuse, and ports that never answer."""

import pytest

from proa.testing.ports import closed_port, hanging_port
from proa.testing.raw_client import RawClient


async def test_a_closed_port_refuses() -> None:
    with closed_port() as port, pytest.raises(ConnectionRefusedError):
        async with RawClient.connect(f"http://127.0.0.1:{port}"):
            pass


async def test_a_hanging_port_never_answers() -> None:
    with hanging_port() as port, pytest.raises(TimeoutError):
        async with RawClient.connect(f"http://127.0.0.1:{port}", timeout_s=0.2):
            pass
