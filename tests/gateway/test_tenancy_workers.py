"""Two real workers share an engine between tenants by weight, and take other weights meanwhile."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import msgspec
from tests.gateway.crowd import ask
from tests.gateway.harness import key_spec
from tests.gateway.supervised import settings_for, supervised, until, url_of

from proa.gateway.settings import TenantSpec
from proa.telemetry.rows import Engine, Header, Tenant, engine_base, tenant_base
from proa.testing.chat import chat_completion
from proa.testing.raw_client import RawClient
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply

CLIENTS = {"flood": 40, "small": 10, "big": 10}
CAP = 2
COUNTED = 400


async def test_shares_go_by_weight_over_real_workers_and_reloads() -> None:
    """The flood has four times the clients of the others and no more than its share."""
    order: list[str] = []

    def script(request: ReceivedRequest) -> Reply:
        order.append(msgspec.json.decode(bytes(request.body))["user"])
        return json_reply(chat_completion())

    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(ScriptedEngine(script))
        settings = settings_for([engine.url], workers=2)
        capped = msgspec.structs.replace(settings.engines[0], max_concurrent_requests=CAP)
        keys = tuple(key_spec(name, name, tenant=name) for name in CLIENTS)
        tenants = (
            TenantSpec(name="flood"),
            TenantSpec(name="small"),
            TenantSpec(name="big", weight=2),
        )
        settings = msgspec.structs.replace(settings, engines=(capped,), keys=keys, tenants=tenants)
        supervisor = await stack.enter_async_context(supervised(settings))
        statuses: Counter[int] = Counter()
        is_over = False

        async def ask_on(tenant: str) -> None:
            async with RawClient.connect(url_of(supervisor), timeout_s=30) as client:
                while not is_over:
                    await client.send(ask(tenant, ("x-api-key", tenant)))
                    statuses[(await client.read_response()).status] += 1

        async def shares() -> dict[str, float]:
            """Of the next starts, those of each tenant."""
            begun = len(order)
            await until(lambda: len(order) >= begun + COUNTED, "starts")
            counts = Counter(order[begun : begun + COUNTED])
            return {tenant: counts[tenant] / COUNTED for tenant in CLIENTS}

        asking = asyncio.gather(*(ask_on(name) for name, n in CLIENTS.items() for _ in range(n)))
        rows, waiting = supervisor.rows, [Header.QUEUED + rank for rank in range(4)]
        await until(lambda: sum(map(rows.in_flight, waiting)) >= 50, "queue")
        before = await shares()
        heavier = tuple(
            msgspec.structs.replace(t, weight={"flood": 1.0, "small": 6.0, "big": 1.0}[t.name])
            for t in tenants
        )
        assert await supervisor.reload(msgspec.structs.replace(settings, tenants=heavier)) == ()
        after = await shares()
        is_over = True
        await asking
        assert set(statuses) == {200}
        cells = [tenant_base(slot) for slot in supervisor.tenant_slots.values()]
        in_flight = engine_base(0) + Engine.IN_FLIGHT
        await until(lambda: not rows.in_flight(in_flight), "end")
        gauges = [cell + Tenant.IN_FLIGHT for cell in cells]
        await until(lambda: not any(map(rows.in_flight, gauges)), "end of the tenants' requests")
        totals = [cell + Tenant.REQUESTS for cell in cells]
        await until(lambda: sum(map(rows.total, totals)) == len(order), "count of all requests")
    assert abs(before["big"] - 0.50) < 0.06, before
    assert abs(before["small"] - 0.25) < 0.05, before
    assert abs(before["flood"] - 0.25) < 0.05, before
    assert abs(after["small"] - 0.75) < 0.08, after
