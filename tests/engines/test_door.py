"""Where an engine's door leads, and where it does not."""

import asyncio
import socket
from typing import Any

import pytest

from proa.domain.fleet import EngineSpec
from proa.domain.reach import ANYWHERE, Reach
from proa.engines.door import EngineDoor, check_feed
from proa.testing.ports import closed_port
from proa.testing.scripted_engine import ScriptedEngine


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names lead to; a list is taken from the front, so that answers may change."""
    known: dict[str, list[str]] = {}

    async def look_up(host: str, port: int, **_: Any) -> list[Any]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]
        ]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", staticmethod(look_up))
    return known


async def connect(url: str, reach: Reach = ANYWHERE) -> None:
    transport, _ = await EngineDoor(EngineSpec(name="e", url=url, reach=reach)).connect(
        asyncio.Protocol
    )
    transport.close()


async def test_a_name_that_leads_to_a_metadata_service_is_not_connected(
    names: dict[str, list[str]],
) -> None:
    names["metadata.test"] = ["169.254.169.254"]
    with pytest.raises(PermissionError, match=r"metadata.test: 169.254.169.254 is a link-local"):
        await connect("http://metadata.test")


async def test_one_bad_address_is_enough(names: dict[str, list[str]]) -> None:
    async with ScriptedEngine() as engine:
        names["rebind.test"] = ["127.0.0.1", "169.254.169.254"]
        with pytest.raises(PermissionError):
            await connect(f"http://rebind.test:{engine.port}")
        assert engine.connections_made == 0


async def test_a_name_outside_of_the_networks_is_not_connected(
    names: dict[str, list[str]],
) -> None:
    names["there.test"] = ["127.0.0.1"]
    with pytest.raises(PermissionError, match="in none of"):
        await connect("http://there.test:9", Reach(networks=("10.0.0.0/8",), only=True))


async def test_the_next_address_of_a_name_is_tried(names: dict[str, list[str]]) -> None:
    async with ScriptedEngine() as engine:
        names["two.test"] = ["127.0.0.2", "127.0.0.1"]
        await connect(f"http://two.test:{engine.port}")
        await engine.wait_connections(0)
        assert engine.connections_made == 1


async def test_all_addresses_of_a_name_fail(names: dict[str, list[str]]) -> None:
    with closed_port() as port:
        names["none.test"] = ["127.0.0.2", "127.0.0.1"]
        with pytest.raises(OSError, match=r"Errno 111.*Errno 111"):
            await connect(f"http://none.test:{port}")


async def test_zeromq_is_not_sent_there_either(names: dict[str, list[str]]) -> None:
    names["feed.test"] = ["169.254.169.254"]
    spec = EngineSpec(name="e", url="http://127.0.0.1", kv_events="tcp://feed.test:5557")
    with pytest.raises(PermissionError, match="link-local"):
        await check_feed(spec)
    names["feed.test"] = ["127.0.0.1"]
    await check_feed(spec)
