"""Quotas over real workers: no race lets more in, and who dies gives back what it held."""

import asyncio
import os
import signal
from collections import Counter
from contextlib import AsyncExitStack

import msgspec
from tests.gateway.harness import key_spec
from tests.gateway.supervised import settings_for, supervised, until, url_of
from tests.gateway.test_ledger import answer, ask

from proa.domain.tenant import QuotaSpec
from proa.gateway.settings import TenantSpec
from proa.telemetry.rows import Tenant, tenant_base
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import WireError
from proa.testing.received import ReceivedRequest
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, WaitFor

LIMIT = 1000
CLIENTS = 100


async def test_workers_share_one_limit_and_a_dead_one_gives_its_part_back() -> None:
    """100 clients at once, each with up to 100 tokens of output, on two workers."""
    go_on = asyncio.Event()

    def script(request: ReceivedRequest) -> Reply:
        del request
        return answer(20, 100).preceded_by(WaitFor(go_on))

    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(ScriptedEngine(script))
        tenants = (TenantSpec(name="sales", quota=QuotaSpec(output_tokens_per_minute=LIMIT)),)
        settings = msgspec.structs.replace(
            settings_for([engine.url], workers=2),
            keys=(key_spec("anna", "a", tenant="sales"),),
            tenants=tenants,
        )
        supervisor = await stack.enter_async_context(supervised(settings))
        base = tenant_base(supervisor.tenant_slots["sales"])
        rows = supervisor.rows
        held, refused = base + Tenant.HELD_OUTPUT, base + Tenant.REFUSED_RATE
        clients = [
            await stack.enter_async_context(RawClient.connect(url_of(supervisor), timeout_s=30))
            for _ in range(CLIENTS)
        ]
        for client in clients:
            await client.send(ask())
        await until(lambda: rows.total(refused) == CLIENTS - LIMIT // 100, "refusals")
        assert rows.in_flight(held) == LIMIT
        of_each = {w.pid: rows.rows[w.index][held] for w in supervisor.workers()}
        victim = max(of_each, key=lambda pid: of_each[pid])
        assert 0 < of_each[victim] <= LIMIT
        os.kill(victim, signal.SIGKILL)
        await until(lambda: rows.in_flight(held) == LIMIT - of_each[victim], "the dead one's part")
        go_on.set()
        statuses: Counter[int] = Counter()
        for client in clients:
            try:
                statuses[(await client.read_response()).status] += 1
            except (WireError, OSError):
                statuses[0] += 1
        left = LIMIT - of_each[victim]
        assert statuses[200] == left // 100
        assert rows.in_flight(held) == 0
        assert rows.total(base + Tenant.OUTPUT_TOKENS) == left
        account = rows.account(supervisor.tenant_slots["sales"])
        assert sum(day.output for day in account.days()) == left
