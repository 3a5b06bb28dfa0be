"""Models and GPUs of the tests of placement; facts from the configuration files on the hub."""

import msgspec

from proa.domain.gpu import GpuPrice, GpuSpec
from proa.domain.llm import (
    DenseFeed,
    ExpertFeed,
    GroupedAttention,
    LayerGroup,
    LinearAttention,
    LlmSpec,
    Quantization,
    WeightFormat,
)

BLOCK_FP8 = Quantization(method="fp8", format=WeightFormat.FP8, block=128, group_size=128 * 128)


def dense(name: str, hidden: int, layers: int, heads: int, intermediate: int) -> LlmSpec:
    """A Qwen3 of one kind of layer: 8 KV heads of 128, 151,936 words."""
    attention = GroupedAttention(heads=heads, kv_heads=8, head_dim=128, qk_norm=True)
    feed = DenseFeed(intermediate=intermediate)
    return LlmSpec(
        id=name,
        architecture="Qwen3ForCausalLM",
        hidden=hidden,
        vocab=151936,
        layers=(LayerGroup(count=layers, attention=attention, feed=feed),),
        max_context=131072,
    )


QWEN3_8B = dense("Qwen/Qwen3-8B", 4096, 36, 32, 12288)
QWEN3_14B = dense("Qwen/Qwen3-14B", 5120, 40, 40, 17408)
QWEN3_32B = dense("Qwen/Qwen3-32B", 5120, 64, 64, 25600)
QWEN3_30B_A3B = LlmSpec(
    id="Qwen/Qwen3-30B-A3B",
    architecture="Qwen3MoeForCausalLM",
    hidden=2048,
    vocab=151936,
    layers=(
        LayerGroup(
            count=48,
            attention=GroupedAttention(heads=32, kv_heads=4, head_dim=128, qk_norm=True),
            feed=ExpertFeed(experts=128, experts_per_token=8, intermediate=768),
        ),
    ),
    max_context=40960,
)
QWEN3_30B_A3B_FP8 = msgspec.structs.replace(
    QWEN3_30B_A3B, id="Qwen/Qwen3-30B-A3B-FP8", quantization=BLOCK_FP8
)
QWEN3_NEXT = LlmSpec(
    id="Qwen/Qwen3-Next-80B-A3B-Instruct",
    architecture="Qwen3NextForCausalLM",
    hidden=2048,
    vocab=151936,
    layers=(
        LayerGroup(
            count=36,
            attention=LinearAttention(
                form="gated_delta_net",
                value_heads=32,
                key_heads=16,
                head_dim=128,
                state_dim=128,
                conv_kernel=4,
                conv_dim=8192,
            ),
            feed=ExpertFeed(
                experts=512, experts_per_token=10, intermediate=512, shared_intermediate=512
            ),
        ),
        LayerGroup(
            count=12,
            attention=GroupedAttention(heads=16, kv_heads=2, head_dim=256, gated=True),
            feed=ExpertFeed(
                experts=512, experts_per_token=10, intermediate=512, shared_intermediate=512
            ),
        ),
    ),
)


def price(amount: float) -> GpuPrice:
    return GpuPrice(amount=amount, currency="USD", date="2026-01-01", source="a round number")


H100 = GpuSpec(
    id="h100-80gb",
    name="NVIDIA H100 SXM",
    vendor="NVIDIA",
    family="hopper",
    memory_bytes=80 * 10**9,
    usable_bytes=int(79.19 * 2**30),
    memory_bytes_per_s=3.35e12,
    flops={"bf16": 989e12, "fp8": 1979e12, "int8": 1979e12},
    pcie_bytes_per_s=64e9,
    tdp_w=700.0,
    link_bytes_per_s=450e9,
    price=price(28000.0),
    source="NVIDIA H100 data sheet; usable as drivers report",
)
RTX_4090 = GpuSpec(
    id="rtx-4090-24gb",
    name="NVIDIA GeForce RTX 4090",
    vendor="NVIDIA",
    family="ada",
    memory_bytes=24 * 10**9,
    usable_bytes=int(23.52 * 2**30),
    memory_bytes_per_s=1.008e12,
    flops={"bf16": 165e12, "fp8": 330e12, "int8": 330e12},
    pcie_bytes_per_s=32e9,
    tdp_w=450.0,
    price=price(1800.0),
    source="NVIDIA Ada architecture paper; usable as drivers report",
)
