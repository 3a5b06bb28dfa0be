"""Engines that come and go: what stays, and what must not pile up."""

import asyncio
import os

from tests.control.engines import Fleet, vllm
from tests.control.virtual_time import run

from proa.control.probing import EngineProbe
from proa.control.traffic import EngineTraffic
from proa.domain.fleet import EngineSpec, EngineState
from proa.engines.sources import Probe
from proa.testing.scripted_engine import ScriptedEngine


def test_g52_a_short_miss_of_health_leaves_the_models_listed() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.registry.start()
        await fleet.until(lambda: fleet.state("a") is EngineState.READY)
        fleet.engines["a"].answers["/health"] = 3600.0  # blocked
        await asyncio.sleep(20)
        assert fleet.state("a") is EngineState.UNREACHABLE
        assert fleet.names("a") == ["m"]
        fleet.engines["a"].answers["/health"] = b""
        await fleet.until(lambda: fleet.state("a") is EngineState.READY, timeout_s=3)
        assert fleet.names("a") == ["m"]
        await fleet.registry.close()

    run(main())


def test_g60_health_blocked_for_a_minute_while_a_stream_runs() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.registry.start()
        await fleet.until(lambda: fleet.state("a") is EngineState.READY)
        fleet.engines["a"].answers["/health"] = 3600.0
        for second in range(60):
            fleet.traffic["a"] = EngineTraffic(in_flight=1, received=second)
            await asyncio.sleep(1)
            assert fleet.state("a") is EngineState.READY
        assert len(fleet.published) == 1
        await fleet.registry.close()

    run(main())


def test_g55_after_a_restart_all_engines_are_known_within_one_interval() -> None:
    async def main() -> None:
        names = ["a", "b", "c", "d", "e"]
        fleet = Fleet({name: vllm(name) for name in names})
        fleet.registry.start()
        await asyncio.sleep(0.5)
        assert {fleet.state(name) for name in names} == {EngineState.READY}
        assert [fleet.names(name) for name in names] == [[name] for name in names]
        await fleet.registry.close()

    run(main())


async def test_g63_a_link_that_flaps_1000_times_costs_no_descriptor() -> None:
    async with ScriptedEngine() as engine:
        probe = EngineProbe(EngineSpec(name="a", url=engine.url))
        counts = []
        for flap in range(1000):
            await probe.ask(Probe("/health"))
            await (engine.start() if flap % 2 else engine.stop())
            if flap % 100 == 99:
                counts.append(len(os.listdir("/proc/self/fd")))
        await probe.close()
        assert max(counts) <= counts[0] + 2
