"""Engines behind names: the system's resolver, and SRV records from a small server of the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import dns.message
import dns.rcode
import dns.rrset
import pytest
from dns.asyncresolver import Resolver

from proa.domain.discovery import DiscoveryKind, DiscoverySpec
from proa.errors import UpstreamError
from proa.providers.dns import DnsAddresses, SrvRecords

NAME = "_vllm._tcp.example.internal."


def spec(address: str, *, record: str = "a", scheme: str = "http") -> DiscoverySpec:
    return DiscoverySpec(
        name="pool", kind=DiscoveryKind.DNS, address=address, record=record, scheme=scheme
    )


async def test_addresses_of_a_name_that_every_machine_knows() -> None:
    engines = await DnsAddresses(spec("localhost:8000", scheme="https")).look()
    urls = [engine.url for engine in engines]
    assert urls
    assert set(urls) <= {"https://127.0.0.1:8000", "https://[::1]:8000"}


async def test_a_name_without_address_is_a_failed_look() -> None:
    with pytest.raises(UpstreamError, match=r"nowhere\.invalid is not resolved"):
        await DnsAddresses(spec("nowhere.invalid:80")).look()


class _Server(asyncio.DatagramProtocol):
    """Answers SRV questions for one name from a list of records, others with no such name."""

    def __init__(self, records: list[str]) -> None:
        self._records = records
        self._transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        answer = dns.message.make_response(query)
        if str(query.question[0].name) == NAME and self._records:
            answer.answer.append(dns.rrset.from_text(NAME, 1, "IN", "SRV", *self._records))
        else:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        self._transport.sendto(answer.to_wire(), addr)


@asynccontextmanager
async def srv_server(*records: str) -> AsyncIterator[Resolver]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Server(list(records)), local_addr=("127.0.0.1", 0)
    )
    resolver = Resolver(configure=False)
    resolver.nameservers = ["127.0.0.1"]
    resolver.port = transport.get_extra_info("sockname")[1]
    resolver.lifetime = 5
    try:
        yield resolver
    finally:
        transport.close()


async def look(resolver: Resolver) -> list[tuple[str, dict[str, object]]]:
    source = SrvRecords(spec(NAME.rstrip("."), record="srv"), resolver)
    return [(engine.url, engine.options) for engine in await source.look()]


async def test_srv_records_of_the_best_priority_with_ports_and_weights() -> None:
    async with srv_server(
        "10 3 8001 b.example.", "10 0 8000 a.example.", "20 9 8002 c.example."
    ) as resolver:
        assert await look(resolver) == [
            ("http://a.example:8000", {}),
            ("http://b.example:8001", {"weight": 3.0}),
        ]


async def test_a_service_that_says_it_is_not_there_has_no_engines() -> None:
    async with srv_server("0 0 0 .") as resolver:
        assert await look(resolver) == []


async def test_no_record_is_a_failed_look() -> None:
    async with srv_server() as resolver:
        with pytest.raises(UpstreamError, match="_vllm"):
            await look(resolver)
