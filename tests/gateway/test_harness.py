"""The harness itself: a request goes through, gauges and clock are seen."""

from tests.gateway.harness import serving

from proa.telemetry.rows import Header
from proa.testing.raw_response import json_request
from proa.testing.scripted_engine import ScriptedEngine


async def test_a_request_goes_through_and_is_recorded() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        answer = await gateway.ask(json_request({"model": "scripted", "messages": []}))
        assert answer.status == 200
        assert answer.header("x-proa-engine") == "main"
        assert [record.status for record in gateway.records] == [200]
        assert gateway.header(Header.REQUESTS) == 1


async def test_the_clock_moves_by_hand() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(b"GET / HTTP/1.1\r\n")
        await gateway.until(lambda: any(c._pending for c in gateway.plane.connections))
        gateway.advance(9.9)
        gateway.advance(0.2)
        assert (await client.read_response()).status == 408
