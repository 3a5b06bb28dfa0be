"""vLLM's cache: layers in groups that share one pool of equal pages, and what it prints of it."""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from proa.domain.llm import Attention, GroupedAttention, LatentAttention, WeightFormat
from proa.errors import InputError
from proa.planner.fit.spec import FitSpec
from proa.planner.fit.vllm_versions import VllmVersion
from proa.planner.layout import StageLayers
from proa.planner.memory.kv_cache import BLOCK_TOKENS, KvDtype, layer_kv_bytes, layer_state_bytes

_PADDED_UP = 1.5
_SPARSE_BLOCK = 64


class Asked(NamedTuple):
    """What of a start decides how many blocks a sequence takes."""

    max_model_len: int
    in_flight_tokens: int
    draft_tokens: int


class CacheGroup(NamedTuple):
    """Layers with one block table: pages of `page_bytes` for `block_tokens` tokens of each layer.

    `blocks` is what a sequence of the longest allowed context takes.
    """

    layers: int
    block_tokens: int
    page_bytes: float
    blocks: int


class _Kind(NamedTuple):
    """Layers that vLLM gives one spec: `row_bytes` per token, or a state of `state_bytes`."""

    layers: int
    row_bytes: float
    state_bytes: int
    window: int | None
    chunked: bool


class CachePool(NamedTuple):
    """All groups of one stage; `layers_per_group` layers of each share a page's number."""

    groups: tuple[CacheGroup, ...]
    layers_per_group: int
    page_bytes: float

    def blocks(self, kv_bytes: int) -> int:
        """Whole blocks of the pool: bytes // page // layers per group."""
        return max(0, int(kv_bytes // self.page_bytes // self.layers_per_group))

    @property
    def blocks_per_sequence(self) -> int:
        """Blocks that a sequence of the longest allowed context takes, of all groups."""
        return sum(group.blocks for group in self.groups)

    def concurrency(self, blocks: int) -> float:
        """Sequences of the longest allowed context at once."""
        return blocks / self.blocks_per_sequence if self.blocks_per_sequence else 0.0

    def printed_tokens(self, blocks: int, asked: Asked, version: VllmVersion) -> int:
        """What "GPU KV cache size" says: by concurrency, or the older blocks // groups x block."""
        if version.tokens_by_concurrency:
            return int(self.concurrency(blocks) * asked.max_model_len)
        shortest = min(group.block_tokens for group in self.groups)
        return blocks // len(self.groups) * shortest

    @property
    def padding_share(self) -> float:
        """The part of the pool for layers that are not there; a lone group has none."""
        held = sum(group.layers for group in self.groups)
        return max(0.0, 1 - held / (self.layers_per_group * len(self.groups)))


def cache_pool(spec: FitSpec, stage: StageLayers, asked: Asked, version: VllmVersion) -> CachePool:
    """How vLLM lays the layers of one stage into groups.

    Layers that all keep every token are one group, each with its own row. Otherwise rows that
    are smaller get longer blocks until all pages are equal, attention's blocks are made as long
    as a linear layer's state is large, and kinds are cut into groups of the smallest kind's
    count (the largest one's, if that is less than 1.5 times as many).

    Source:
        vLLM, v1/core/kv_cache_utils.py (get_kv_cache_groups, unify_kv_cache_spec_page_size),
        platforms/interface.py (attention block and Mamba page).

    Raises:
        InputError: no layer of the stage keeps anything.
    """
    kinds = _kinds(spec, stage, cache_dtype(spec, version))
    if not kinds:
        raise InputError(f"{spec.llm.id}: a pipeline stage has no layer that keeps a cache")
    block = _block_tokens(spec)
    if all(kind.row_bytes and kind.window is None for kind in kinds):
        row = sum(kind.layers * kind.row_bytes for kind in kinds)
        needed = ceil(ceil(asked.max_model_len / spec.layout.context_parallel) / block)
        layers = sum(kind.layers for kind in kinds)
        group = CacheGroup(layers, block * spec.layout.context_parallel, row * block, needed)
        return CachePool((group,), 1, row * block)
    block, page = _page(kinds, block)
    counts = [kind.layers for kind in kinds]
    size = max(counts) if max(counts) < _PADDED_UP * min(counts) else min(counts)
    groups = [
        group
        for kind in kinds
        for group in _groups(kind, _KindPages(size, page, block), asked, version)
    ]
    return CachePool(tuple(groups), size, page)


class _KindPages(NamedTuple):
    size: int
    page_bytes: float
    block_tokens: int


def _groups(
    kind: _Kind, pages: _KindPages, asked: Asked, version: VllmVersion
) -> Iterator[CacheGroup]:
    if kind.state_bytes:
        block = pages.block_tokens if version.state_blocks > 1 else asked.max_model_len
        blocks = version.state_blocks + asked.draft_tokens
    else:
        block = int(pages.page_bytes // kind.row_bytes)
        blocks = _attention_blocks(kind, block, asked)
    number = ceil(kind.layers / pages.size)
    for index in range(number):
        layers = len(range(index, kind.layers, number))
        yield CacheGroup(layers, block, pages.page_bytes, blocks)


def _attention_blocks(kind: _Kind, block: int, asked: Asked) -> int:
    """A window keeps what it looks back on and what is being written, and starts inside a block."""
    if kind.window is None:
        return ceil(asked.max_model_len / block)
    if kind.chunked:
        return ceil(min(kind.window + asked.in_flight_tokens, asked.max_model_len) / block)
    held = min(kind.window - 1 + asked.in_flight_tokens, asked.max_model_len)
    return ceil(held / block) + 1


def _page(kinds: list[_Kind], block: int) -> tuple[int, float]:
    """Tokens of an attention block, and bytes of the page that all groups share."""
    rows = [kind.row_bytes for kind in kinds if kind.row_bytes]
    state = max(kind.state_bytes for kind in kinds)
    if not rows:
        return block, float(state)
    widest = max(rows)
    if state:
        block = max(block, ceil(state / (block * min(rows))) * block)
    return block, block * widest


def cache_dtype(spec: FitSpec, version: VllmVersion) -> KvDtype:
    """What `auto` is: the model's type, or fp8 where the checkpoint has scales for its cache.

    Source:
        vLLM, utils/torch_utils.py, resolve_kv_cache_dtype_string (`kv_cache_quant_algo`).
    """
    quantization = spec.llm.quantization
    if spec.kv_dtype is not KvDtype.AUTO or quantization is None:
        return spec.kv_dtype
    told = quantization.method == "modelopt" and quantization.kv_cache is WeightFormat.FP8
    follows = version.cache_as_checkpoint and told
    return KvDtype.FP8 if follows else KvDtype.AUTO


def _kinds(spec: FitSpec, stage: StageLayers, kv_dtype: KvDtype) -> list[_Kind]:
    """Layers by what they keep; draft layers keep what the last kind of attention does."""
    tensor_parallel = spec.layout.tensor_parallel
    chunked = spec.llm.architecture.startswith("Llama4")
    counted: dict[tuple[float, int, int | None], int] = {}
    for group, count in zip(spec.llm.layers, stage.counts, strict=True):
        row = layer_kv_bytes(group.attention, kv_dtype, tensor_parallel=tensor_parallel)
        state = layer_state_bytes(group.attention, tensor_parallel=tensor_parallel)
        if count and (row or state):
            key = (row, state, _window(group.attention))
            counted[key] = counted.get(key, 0) + count
    full = [key for key in counted if key[0] and key[2] is None]
    if spec.draft_tokens and stage.last and full:
        counted[full[-1]] += spec.llm.draft_layers
    return [_Kind(count, *key, chunked) for key, count in counted.items()]


def _window(attention: Attention) -> int | None:
    return attention.window if isinstance(attention, GroupedAttention | LatentAttention) else None


def _block_tokens(spec: FitSpec) -> int:
    sparse = any(
        isinstance(group.attention, LatentAttention) and group.attention.index_head_dim
        for group in spec.llm.layers
    )
    return spec.block_tokens or (_SPARSE_BLOCK if sparse else BLOCK_TOKENS)
