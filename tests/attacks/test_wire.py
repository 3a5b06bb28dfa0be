"""Attacks on the framing: the right status, the connection ends, and nobody else sees a trace."""

import asyncio

import pytest
from tests.attacks.bytes_on_the_wire import ATTACKS
from tests.attacks.gateways import innocent, under_attack
from tests.attacks.register import resisted

for attack in ATTACKS.values():
    resisted(attack.kind, attack.status)


@pytest.mark.parametrize("name", ATTACKS)
async def test_smuggling(name: str) -> None:
    attack = ATTACKS[name]
    async with under_attack() as (gateway, engine), gateway.client() as client:
        await client.send(attack.data)
        answer = await client.read_response()
        assert answer.status == attack.status
        assert answer.header("connection") == "close"
        assert await client.end() == "FIN"
        await innocent(gateway)
        assert [request.target for request in engine.requests] == ["/v1/completions"]
        assert all(request.header("x-innocent") == "yes" for request in engine.requests)


@pytest.mark.parametrize("name", ATTACKS)
async def test_smuggling_behind_a_good_request_and_cut_in_two(name: str) -> None:
    attack = ATTACKS[name]
    async with under_attack() as (gateway, engine), gateway.client() as client:
        middle = len(attack.data) // 2
        await client.send(attack.data[:middle])
        await asyncio.sleep(0)
        await client.send(attack.data[middle:])
        assert (await client.read_response()).status == attack.status
        assert await client.end() == "FIN"
        assert engine.requests == []
