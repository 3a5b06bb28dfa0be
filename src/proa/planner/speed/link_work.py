"""What the GPUs of a replica say to each other in one pass."""

from proa.domain.llm import ExpertFeed, LlmSpec
from proa.planner.layout import LayoutSpec
from proa.planner.speed.links import (
    LinkSpec,
    all_reduce_hop_s,
    all_reduce_s_per_byte,
    all_to_all_s_per_byte,
)

_ACTIVATION_BYTES = 2


def talk(
    llm: LlmSpec, layout: LayoutSpec, link: LinkSpec, stage_link: LinkSpec
) -> tuple[float, float, float]:
    """(hops of a pass, mean latency of one, seconds per token): two all-reduces per layer under TP.

    With data-parallel attention the experts' tokens go out and come back instead: k copies of
    a token's row each way, dispatched in 1 byte and combined in 2.
    """
    ranks, row = layout.tensor_parallel, llm.hidden * _ACTIVATION_BYTES
    hops = token_s = hop_s = 0.0
    if ranks > 1:
        hops += 2.0 * llm.layer_count
        hop_s = all_reduce_hop_s(link, ranks)
        token_s += hops * row * all_reduce_s_per_byte(link, ranks)
    wide = ranks * layout.data_parallel
    if layout.data_parallel > 1:
        for group in llm.layers:
            if isinstance(group.feed, ExpertFeed):
                copies = min(group.feed.experts_per_token, wide)
                hops += 2.0 * group.count
                sent = 1.5 * copies * row
                token_s += group.count * sent * all_to_all_s_per_byte(link, wide)
        hop_s = all_reduce_hop_s(link, wide)
    if layout.pipeline_parallel > 1:
        stages = float(layout.pipeline_parallel)
        hop_s = (hops * hop_s + stages * stage_link.latency_s) / (hops + stages)
        hops += stages
        token_s += (stages - 1) * row / stage_link.bytes_per_s
    return hops, hop_s, token_s
