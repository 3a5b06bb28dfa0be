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
    """In one piece, and cut in two."""
    attack = ATTACKS[name]
    middle = len(attack.data) // 2
    async with under_attack() as (gateway, engine):
        for pieces in ([attack.data], [attack.data[:middle], attack.data[middle:]]):
            async with gateway.client() as client:
                for piece in pieces:
                    await client.send(piece)
                    await asyncio.sleep(0)
                answer = await client.read_response()
                assert answer.status == attack.status
                assert answer.header("connection") == "close"
                assert await client.end() == "FIN"
        await innocent(gateway)
        assert [request.target for request in engine.requests] == ["/v1/completions"]
        assert engine.requests[0].header("x-innocent") == "yes"
