"""Starts of engines that tests of profiles count."""

from tests.planner.models import QWEN3_8B, dense

from proa.catalog.gpus import find_gpu
from proa.domain.llm import GroupedAttention, LayerGroup, LlmSpec
from proa.planner.fit.spec import FitSpec
from proa.planner.layout import LayoutSpec

QWQ_32B = dense(
    "Qwen/QwQ-32B",
    5120,
    152_064,
    layers=64,
    attention=GroupedAttention(heads=40, kv_heads=8, head_dim=128, bias=True),
    feed=27_648,
)


def start(
    engine: str, gpu: str, llm: LlmSpec = QWEN3_8B, *, tp: int = 1, **flags: object
) -> FitSpec:
    """`flags` are fields of FitSpec."""
    layout = LayoutSpec(tensor_parallel=tp)
    spec: FitSpec = FitSpec(llm=llm, gpu=find_gpu(gpu), engine=engine, layout=layout, **flags)  # type: ignore[arg-type]
    return spec


def windowed(full: int, window: int, *, kv_heads: int = 8, head_dim: int = 64) -> LlmSpec:
    """gpt-oss's pattern: `full` layers that see everything and as many that see a window."""
    plain = GroupedAttention(heads=64, kv_heads=kv_heads, head_dim=head_dim)
    short = GroupedAttention(heads=64, kv_heads=kv_heads, head_dim=head_dim, window=window)
    feed = QWEN3_8B.layers[0].feed
    layers = tuple(LayerGroup(count=full, attention=each, feed=feed) for each in (plain, short))
    return LlmSpec(
        id="test/windowed", architecture="test", hidden=2880, vocab=201_088, layers=layers
    )
