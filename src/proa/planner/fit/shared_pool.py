"""What the profiles of engines with one pool of tokens share: sizes that go in, the plan out."""

import msgspec

from proa.domain.llm import (
    DenseFeed,
    ExpertFeed,
    Feed,
    GroupedAttention,
    LinearAttention,
    LlmSpec,
)
from proa.planner.fit import sources
from proa.planner.fit.spec import FitPlan, FitSpec, MemoryLine
from proa.planner.memory.kv_cache import kv_bytes_per_sequence, kv_bytes_per_token
from proa.planner.memory.weights import weights_bytes
from proa.planner.text import Text

GIB = 2**30
MIB = 2**20

UNSURE_SHARE, SURE_SHARE = 0.03, 0.005


class PoolParts(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU's memory but for the cache, as a profile or a log has it."""

    gpu_bytes: int
    weights_bytes: int
    activation_bytes: int
    non_torch_bytes: int
    cuda_graph_bytes: int


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """The cache that is left, and what it holds."""

    requested_bytes: int
    kv_cache_bytes: int
    kv_cache_tokens: int
    max_concurrency: float
    fragmentation_bytes: int = 0


def parts(spec: FitSpec, *, activation: float, non_torch: float, graphs: float) -> PoolParts:
    """The profile's estimates, each replaced by what was measured."""
    measured = spec.measured
    own = PoolParts(
        gpu_bytes=spec.gpu.usable_bytes,
        weights_bytes=weights_bytes(spec.llm, spec.layout, plain=spec.plain),
        activation_bytes=round(activation),
        non_torch_bytes=round(non_torch),
        cuda_graph_bytes=0 if spec.enforce_eager else round(graphs),
    )
    if measured is None:
        return own
    known = {
        name: value
        for name in own.__struct_fields__
        if (value := getattr(measured, name)) is not None
    }
    return msgspec.structs.replace(own, **known)


def context_tokens(spec: FitSpec) -> int:
    """The longest sequence: as asked, else the model's own."""
    return spec.max_model_len or spec.llm.max_context or 4096


def token_bytes(spec: FitSpec) -> float:
    """Bytes of a token in all layers, windows held in full."""
    return kv_bytes_per_token(spec.llm, spec.kv_dtype, layout=spec.layout)


def sequence_bytes(spec: FitSpec, block_tokens: int) -> int:
    """Bytes of one sequence of the longest context."""
    return kv_bytes_per_sequence(
        spec.llm,
        context_tokens(spec),
        spec.kv_dtype,
        layout=spec.layout,
        block_tokens=block_tokens,
    )


def pool_of(spec: FitSpec, requested: int, kv_bytes: int, block_tokens: int) -> Pool:
    """A pool of whole blocks that all layers share.

    Models with windows or states hold as many sequences as their bytes allow; the tokens are
    those of whole sequences then.
    """
    length = context_tokens(spec)
    room = max(kv_bytes, 0)
    if has_windows(spec.llm) or has_states(spec.llm):
        each = sequence_bytes(spec, block_tokens)
        concurrency = room / each if each else 0.0
        tokens, rest = int(concurrency * length), 0
    else:
        per_token = token_bytes(spec)
        tokens = int(room / per_token) // block_tokens * block_tokens if per_token else 0
        concurrency, rest = tokens / length, room - round(tokens * per_token)
    return Pool(
        requested_bytes=requested,
        kv_cache_bytes=kv_bytes,
        kv_cache_tokens=tokens,
        max_concurrency=concurrency,
        fragmentation_bytes=rest,
    )


def has_windows(llm: LlmSpec) -> bool:
    """Whether some layers only look back on a window."""
    attentions = (group.attention for group in llm.layers)
    return any(isinstance(a, GroupedAttention) and bool(a.window) for a in attentions)


def has_states(llm: LlmSpec) -> bool:
    """Whether some layers keep a state in place of a cache."""
    return any(isinstance(group.attention, LinearAttention) for group in llm.layers)


def plan(
    spec: FitSpec,
    part: PoolParts,
    pool: Pool,
    *,
    profile: str,
    lines: tuple[MemoryLine, ...],
    doubts: tuple[Text, ...] = (),
) -> FitPlan:
    """The answer: it fits where one sequence of the longest context does, and the margin too.

    The margin is what the estimates may be wrong by: 3 % of the GPU, 0.5 % without a doubt.
    """
    length = context_tokens(spec)
    margin = part.gpu_bytes * (UNSURE_SHARE if doubts else SURE_SHARE)
    one = pool.kv_cache_bytes / pool.max_concurrency if pool.max_concurrency else 0.0
    return FitPlan(
        engine=spec.engine,
        engine_version=spec.engine_version or "",
        profile=profile,
        gpu_bytes=part.gpu_bytes,
        requested_bytes=pool.requested_bytes,
        weights_bytes=part.weights_bytes,
        activation_bytes=part.activation_bytes,
        non_torch_bytes=part.non_torch_bytes,
        cuda_graph_bytes=part.cuda_graph_bytes,
        fragmentation_bytes=pool.fragmentation_bytes,
        headroom_bytes=spec.headroom_bytes,
        kv_cache_bytes=pool.kv_cache_bytes,
        kv_bytes_per_token=token_bytes(spec),
        kv_cache_tokens=pool.kv_cache_tokens,
        plannable_tokens=int(pool.max_concurrency * length),
        max_model_len=length,
        max_concurrency=pool.max_concurrency,
        fits=pool.max_concurrency >= 1 and pool.kv_cache_bytes - one >= margin,
        lines=lines,
        doubts=doubts,
    )


def lines_inside(spec: FitSpec, pool: Pool, place: str) -> tuple[MemoryLine, ...]:
    """Parts that have no line of their own: `place` is where what a step needs is kept."""
    nccl = "cuda_context_and_nccl"
    return (
        MemoryLine(
            name="fragmentation",
            bytes=pool.fragmentation_bytes,
            inside="kv_cache",
            source=sources.BLOCKS,
        ),
        MemoryLine(name="attention_workspace", inside=place, source=sources.STEP),
        MemoryLine(name="batching_buffers", inside=place, source=sources.STEP),
        MemoryLine(name="tensor_parallel_buffers", inside=nccl, source=sources.ALL_REDUCE),
        MemoryLine(name="headroom", bytes=spec.headroom_bytes, source=sources.OPERATOR),
    )


def prefill_bytes(spec: FitSpec, tokens: int) -> int:
    """Scratch of a prefill of `tokens` tokens: 8 hidden vectors and the widest feed-forward.

    bytes = tokens x (8 x hidden + 3 x intermediate / TP) x 2

    An estimate for engines whose logs part nothing; experts count as those of one token.
    """
    widest = max((_width(group.feed) for group in spec.llm.layers), default=0)
    return tokens * (8 * spec.llm.hidden + 3 * widest // spec.layout.tensor_parallel) * 2


def _width(feed: Feed) -> int:
    if isinstance(feed, DenseFeed):
        return feed.intermediate
    if isinstance(feed, ExpertFeed):
        return feed.experts_per_token * feed.intermediate + feed.shared_intermediate
    return 0
