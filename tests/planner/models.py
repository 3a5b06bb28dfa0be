"""Models that tests of memory count, with facts of their config.json files."""

from proa.domain.llm import (
    DenseFeed,
    ExpertFeed,
    GroupedAttention,
    LatentAttention,
    LayerGroup,
    LlmSpec,
    Quantization,
    WeightFormat,
)


def dense(
    model: str, hidden: int, vocab: int, *, layers: int, attention: GroupedAttention, feed: int
) -> LlmSpec:
    """A stack of equal dense layers, gated, its head apart."""
    group = LayerGroup(count=layers, attention=attention, feed=DenseFeed(intermediate=feed))
    return LlmSpec(id=model, architecture="test", hidden=hidden, vocab=vocab, layers=(group,))


QWEN3_8B = dense(
    "Qwen/Qwen3-8B",
    4096,
    151_936,
    layers=36,
    attention=GroupedAttention(heads=32, kv_heads=8, head_dim=128, qk_norm=True),
    feed=12_288,
)
QWEN25_7B = dense(
    "Qwen/Qwen2.5-7B-Instruct",
    3584,
    152_064,
    layers=28,
    attention=GroupedAttention(heads=28, kv_heads=4, head_dim=128, bias=True),
    feed=18_944,
)
LLAMA_70B = dense(
    "meta-llama/Llama-3.3-70B-Instruct",
    8192,
    128_256,
    layers=80,
    attention=GroupedAttention(heads=64, kv_heads=8, head_dim=128),
    feed=28_672,
)
_MLA = LatentAttention(
    heads=128,
    q_lora_rank=1536,
    kv_lora_rank=512,
    rope_head_dim=64,
    nope_head_dim=128,
    value_dim=128,
)
_EXPERTS = ExpertFeed(experts=256, experts_per_token=8, intermediate=2048, shared_intermediate=2048)
DEEPSEEK_R1 = LlmSpec(
    id="deepseek-ai/DeepSeek-R1-0528",
    architecture="DeepseekV3ForCausalLM",
    hidden=7168,
    vocab=129_280,
    layers=(
        LayerGroup(count=3, attention=_MLA, feed=DenseFeed(intermediate=18_432)),
        LayerGroup(count=58, attention=_MLA, feed=_EXPERTS),
    ),
    quantization=Quantization(method="fp8", format=WeightFormat.FP8, block=128),
)
QWEN3_235B = LlmSpec(
    id="Qwen/Qwen3-235B-A22B",
    architecture="Qwen3MoeForCausalLM",
    hidden=4096,
    vocab=151_936,
    layers=(
        LayerGroup(
            count=94,
            attention=GroupedAttention(heads=64, kv_heads=4, head_dim=128, qk_norm=True),
            feed=ExpertFeed(experts=128, experts_per_token=8, intermediate=1536),
        ),
    ),
)
