"""What changed between versions of vLLM, as far as memory is concerned."""

from typing import NamedTuple

from proa.planner.fit.profiles import Version

_SORTED_BYTES, _SELECTED_BYTES = 36.6, 14.0
_SORTED_BASE, _SELECTED_BASE = 0.23, 0.11


class VllmVersion(NamedTuple):
    """Rules of one version.

    `sampler_bytes` per sequence and vocabulary entry of the profile run: logits in bf16 and fp32,
    and what top-k and top-p sort (all, before 0.17); `base_gib` is what else that run keeps.
    `keeps_expert_buffers`: those of fused experts stay, so they add to the sampler's peak instead
    of hiding below it (`_plain_` where they are not quantised, `_on_rocm` there).
    `counts_graphs`: the estimate of CUDA graphs is taken off the cache. `tokens_by_concurrency`:
    what "GPU KV cache size" means. `state_blocks`: blocks that a sequence holds per group of
    linear layers. `steps_in_flight`: steps whose tokens a window must hold besides.
    `whole_prompts`: the profile run takes the longest context.
    `cache_as_checkpoint`: `auto` is fp8 where a ModelOpt checkpoint brings scales for its cache.
    """

    sampler_bytes: float
    base_gib: float
    utilization: float = 0.90
    keeps_expert_buffers: bool = False
    keeps_plain_expert_buffers: bool = False
    keeps_expert_buffers_on_rocm: bool = False
    large_links: bool = False
    pads_experts: bool = False
    triton_mxfp4: bool = True
    counts_graphs: bool = False
    tokens_by_concurrency: bool = False
    state_blocks: int = 1
    steps_in_flight: int = 1
    whole_prompts: bool = False
    cache_as_checkpoint: bool = False


_V0 = VllmVersion(_SELECTED_BYTES, _SELECTED_BASE, triton_mxfp4=False, whole_prompts=True)
_V0_10 = VllmVersion(_SORTED_BYTES, _SORTED_BASE, triton_mxfp4=False)
_V0_11 = VllmVersion(10.9, 0.44)
_V0_13 = VllmVersion(_SORTED_BYTES, _SORTED_BASE)
_V0_12 = _V0_13._replace(cache_as_checkpoint=True)
_V0_16 = _V0_12._replace(keeps_expert_buffers_on_rocm=True)
_V0_14 = _V0_16._replace(keeps_expert_buffers=True)
_V0_11_1 = _V0_13._replace(keeps_expert_buffers=True)
_V0_17 = _V0_14._replace(
    sampler_bytes=_SELECTED_BYTES, base_gib=_SELECTED_BASE, large_links=True, pads_experts=True
)
_V0_19 = _V0_17._replace(keeps_plain_expert_buffers=True)
_V0_20 = _V0_19._replace(utilization=0.92, counts_graphs=True)
_V0_21 = _V0_20._replace(tokens_by_concurrency=True, state_blocks=2, steps_in_flight=2)

OLDEST_PINNED: Version = (0, 11, 0)
"""Older ones have a rough rule only."""

VLLM_VERSIONS: dict[Version, VllmVersion] = {
    (0, 6, 0): _V0,
    (0, 7, 0): _V0,
    (0, 10, 0): _V0_10,
    (0, 11, 0): _V0_11,
    (0, 11, 1): _V0_11_1,
    (0, 12, 0): _V0_12,
    (0, 13, 0): _V0_12,
    (0, 14, 0): _V0_14,
    (0, 15, 0): _V0_14,
    (0, 16, 0): _V0_16,
    (0, 17, 0): _V0_17,
    (0, 18, 0): _V0_17,
    (0, 19, 0): _V0_19,
    (0, 20, 0): _V0_20,
} | {(0, minor, 0): _V0_21 for minor in range(21, 34)}
"""Rules by the first version that has them.

Source: start-up logs of 0.11.0 to 0.24 (see tests/planner/data), for 0.12, 0.15 and from 0.25 on
the rules of the neighbours; log texts of 0.21 for graphs and the meaning of tokens
(vllm-project/vllm issues 40691, 43308, 51041).
"""

MEASURED_MINORS = frozenset({11, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24})
"""Minor versions of which logs were read."""
