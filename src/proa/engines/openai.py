"""Anything that speaks the OpenAI API; of its metrics those of TensorRT-LLM's server are known.

Source: names from Dynamo's registry, `trtllm_` or `trtllm:` (read, not run).
"""

from proa.domain.load import EngineLoad
from proa.engines.base import EngineAdapter
from proa.engines.prometheus import Readings
from proa.engines.sources import LoadSource, Probe

_NAMES = (
    "num_requests_running",
    "num_requests_waiting",
    "kv_cache_utilization",
    "kv_cache_hit_rate",
    "kv_cache_max_blocks",
    "kv_cache_tokens_per_block",
)
_SPELLED = {name: (f"trtllm_{name}", f"trtllm:{name}") for name in _NAMES}
_ALL = [spelling for spellings in _SPELLED.values() for spelling in spellings]


def read_trtllm_metrics(page: bytes, at_s: float) -> EngineLoad | None:
    """The load on trtllm-serve's metrics page."""
    readings = Readings(page, _ALL)
    if not readings:
        return None
    blocks = readings.total(*_SPELLED["kv_cache_max_blocks"])
    block_tokens = readings.greatest(*_SPELLED["kv_cache_tokens_per_block"])
    return EngineLoad(
        at_s=at_s,
        running=readings.count(*_SPELLED["num_requests_running"]),
        waiting=readings.count(*_SPELLED["num_requests_waiting"]),
        kv_use=readings.share(*_SPELLED["kv_cache_utilization"]),
        kv_tokens=round(blocks * block_tokens) if blocks and block_tokens else None,
        prefix_hit_rate=readings.share(*_SPELLED["kv_cache_hit_rate"]),
    )


class OpenAiAdapter(EngineAdapter):
    """A server of which no more is known than its API."""

    load_groups = (
        (
            LoadSource(Probe("/prometheus/metrics"), read_trtllm_metrics, is_metrics=True),
            LoadSource(Probe("/metrics"), read_trtllm_metrics, is_metrics=True),
        ),
    )
