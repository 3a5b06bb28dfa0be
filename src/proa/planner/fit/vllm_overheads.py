"""What vLLM keeps off the cache besides weights: activation peak, non-torch memory, CUDA graphs."""

from math import ceil
from typing import NamedTuple

from proa.domain.llm import DenseFeed, ExpertFeed, LatentAttention, NoAttention, NoFeed
from proa.planner.fit.spec import FitSpec
from proa.planner.fit.vllm_versions import VllmVersion

GIB = 2**30
_LARGE_GPU_BYTES = 70 * GIB
_VISION_BYTES = 0.25 * GIB
_LINK_BYTES_PER_S = 200e9
_STAGE_NON_TORCH_BYTES = 0.07 * GIB
_HIDDEN_COPIES = 1.14
_GRAPH_GIB = (0.0, 0.02)
_LATENT_GRAPH_GIB = (0.6, 0.0155)
_GRAPH_BYTES_SMALL = 0.2 * GIB
_NON_TORCH_GIB = {
    "nvidia": {1: 0.14, 2: 0.55, 4: 0.60, 8: 0.87},
    "nvidia, symmetric": {1: 0.25, 2: 2.08, 4: 2.17, 8: 2.35},
    "amd": {1: 1.20, 2: 1.40, 4: 1.70, 8: 3.50},
}


class Batch(NamedTuple):
    """The profile run: tokens of one step, and sequences that are sampled."""

    tokens: int
    sequences: int


def batch_of(spec: FitSpec, version: VllmVersion) -> Batch:
    """As asked, or the server's defaults, which large GPUs but the A100 have greater.

    Source:
        vLLM, engine/arg_utils.py, get_batch_defaults.
    """
    large = spec.gpu.usable_bytes >= _LARGE_GPU_BYTES and not spec.gpu.id.startswith("a100")
    tokens, sequences = (8192, 1024) if large else (2048, 256)
    tokens = spec.max_num_batched_tokens or tokens
    if version.whole_prompts:
        tokens = max(tokens, spec.max_model_len or 0)
    return Batch(tokens, min(spec.max_num_seqs or sequences, tokens))


def activation_bytes(
    spec: FitSpec, version: VllmVersion, batch: Batch, *, samples: bool = True
) -> float:
    """Torch's peak in the profile run above the weights; the last pipeline stage `samples`.

    peak = base + 1.14 x tokens x hidden x 2 + vision's 0.25 GiB
         + max(sequences x vocabulary x bytes of the sampler, feed-forward of all tokens)

    The vocabulary decides: logits of every sequence are computed whole on every rank.

    Source:
        fitted on start-up logs of 0.11 to 0.20, see benchmarks/planner_accuracy.
    """
    llm = spec.llm
    kept = version.base_gib * GIB + _HIDDEN_COPIES * batch.tokens * llm.hidden * 2
    kept += _VISION_BYTES if llm.extra_parameters else 0
    sampler = batch.sequences * llm.vocab * version.sampler_bytes if samples else 0.0
    forward = max(_dense_bytes(spec, batch.tokens), 4.0 * batch.tokens * llm.hidden)
    workspace = expert_buffer_bytes(spec, batch.tokens)
    if keeps_expert_buffers(spec, version):
        return kept + max(sampler, forward) + workspace
    return kept + max(sampler, forward, workspace)


def non_torch_bytes(spec: FitSpec, version: VllmVersion) -> float:
    """CUDA context's growth, NCCL, and since 0.17 symmetric buffers of GPUs that are linked."""
    tensor_parallel = spec.layout.tensor_parallel
    if tensor_parallel == 1 and spec.layout.pipeline_parallel > 1:
        return _STAGE_NON_TORCH_BYTES
    table = _NON_TORCH_GIB[non_torch_kind(spec, version)]
    return table[min(table, key=lambda known: abs(known - tensor_parallel))] * GIB


def non_torch_kind(spec: FitSpec, version: VllmVersion) -> str:
    """Which table of non-torch memory holds: by vendor, version, and links between GPUs."""
    if spec.gpu.vendor == "amd":
        return "amd"
    linked = (spec.gpu.link_bytes_per_s or 0.0) >= _LINK_BYTES_PER_S
    symmetric = version.large_links and (linked or spec.layout.tensor_parallel == 1)
    return "nvidia, symmetric" if symmetric else "nvidia"


def graph_bytes(spec: FitSpec, batch: Batch) -> float:
    """vLLM's own estimate of its CUDA graphs: 0.02 GiB a layer, 0.6 + 0.0155 a layer with MLA.

    Fewer sequences need fewer graphs, down to 0.2 GiB.
    """
    if spec.enforce_eager:
        return 0.0
    halves = sum(
        group.count
        * (2 - isinstance(group.attention, NoAttention) - isinstance(group.feed, NoFeed))
        for group in spec.llm.layers
    )
    latent = any(isinstance(group.attention, LatentAttention) for group in spec.llm.layers)
    base, each = _LATENT_GRAPH_GIB if latent else _GRAPH_GIB
    full = (base + each * halves / 2) * GIB
    share = min(1.0, batch.sequences / 256)
    return _GRAPH_BYTES_SMALL + (full - _GRAPH_BYTES_SMALL) * share


def _dense_bytes(spec: FitSpec, tokens: int) -> float:
    widths = [g.feed.intermediate for g in spec.llm.layers if isinstance(g.feed, DenseFeed)]
    if not widths:
        return 0.0
    return tokens * 3 * ceil(max(widths) / spec.layout.tensor_parallel) * 2


def expert_buffer_bytes(spec: FitSpec, tokens: int) -> float:
    """Two buffers of fused experts: [tokens, chosen, max(I, H)] and [tokens, chosen, max(2I, H)].

    Source:
        vLLM, fused_moe.py, TritonExperts.workspace_shapes.
    """
    sizes = [0.0]
    for group in spec.llm.layers:
        feed = group.feed
        if isinstance(feed, ExpertFeed):
            layout = spec.layout
            ranks = 1 if layout.expert_parallel else layout.tensor_parallel * layout.data_parallel
            width = ceil(feed.intermediate / ranks)
            hidden = feed.latent or spec.llm.hidden
            up = width * (2 if feed.gated else 1)
            rows = tokens * feed.experts_per_token
            sizes.append(rows * (max(up // 2, hidden) + max(up, hidden)) * 2)
    return max(sizes)


def keeps_expert_buffers(spec: FitSpec, version: VllmVersion) -> bool:
    """Kernels that bring their own buffers do not: Marlin, and TRT-LLM's on Blackwell."""
    quantization = spec.llm.quantization
    if spec.gpu.vendor == "amd":
        return version.keeps_expert_buffers_on_rocm
    if quantization is None:
        return version.keeps_plain_expert_buffers
    if not version.keeps_expert_buffers:
        return False
    if quantization.format.value in ("int4", "mxfp4", "nvfp4"):
        return False
    if quantization.method == "modelopt" and version.pads_experts:
        return False
    return spec.gpu.family != "blackwell"
