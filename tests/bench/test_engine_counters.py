"""The engine's own counters around a level."""

from proa.bench.engine_counters import cache_between, read_engine
from proa.bench.levels import CacheStats
from proa.bench.target import TargetSpec
from proa.domain.load import EngineLoad
from proa.testing.replies import body_reply
from proa.testing.scripted_engine import ScriptedEngine

PAGE = b"""vllm:num_requests_running{engine="0"} 3.0
vllm:prefix_cache_queries_total{engine="0"} 1000.0
vllm:prefix_cache_hits_total{engine="0"} 250.0
"""


async def test_a_metrics_page_is_read_wherever_it_is() -> None:
    async with ScriptedEngine() as engine:
        engine.control["/metrics"] = body_reply([PAGE], content_type="text/plain")
        here = await read_engine(TargetSpec(name="t", url=engine.url))
        behind = TargetSpec(name="t", url="http://127.0.0.1:1", metrics_url=f"{engine.url}/metrics")
        there = await read_engine(behind)
        engine.control["/metrics"] = body_reply([b""], status=404)
        nowhere = await read_engine(TargetSpec(name="t", url=engine.url))
    assert here is not None
    assert there is not None
    assert (here.running, here.prefix_hits_total) == (3, 250.0)
    assert there.prefix_hits_total == 250.0
    assert nowhere is None
    assert await read_engine(TargetSpec(name="t", url="http://127.0.0.1:1")) is None


def test_rises_are_told_where_both_ends_are_known() -> None:
    before = EngineLoad(at_s=0.0, prefix_queries_total=100.0, prefix_hits_total=10.0)
    after = EngineLoad(at_s=9.0, prefix_queries_total=300.0, prefix_hits_total=60.0)
    assert cache_between(before, after) == CacheStats(200.0, 50.0)
    assert cache_between(after, before) == CacheStats(None, None)
    assert cache_between(None, after) == CacheStats()
