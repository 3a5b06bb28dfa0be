"""How one model is laid over GPUs."""

from functools import lru_cache

import msgspec

from proa.domain.llm import DenseFeed, LayerGroup, LlmSpec
from proa.errors import InputError


class LayoutSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One replica's GPUs: tensor x pipeline x data parallel.

    `expert_parallel` gives each GPU whole experts instead of a slice of each; either way the
    experts lie over tensor x data parallel ranks, as vLLM lays them. `context_parallel` ranks
    (decode context parallel) are some of the tensor parallel ones: they share a sequence's cache.
    """

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: bool = False
    context_parallel: int = 1

    def __post_init__(self) -> None:
        for field in ("tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel"):
            if getattr(self, field) < 1:
                raise InputError(f"{field} = {getattr(self, field)}: accepted is 1 or more")
        if self.tensor_parallel % self.context_parallel:
            raise InputError(
                f"context_parallel = {self.context_parallel}: accepted is a divisor of "
                f"tensor_parallel = {self.tensor_parallel}"
            )

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel * self.pipeline_parallel * self.data_parallel


class StageLayers(msgspec.Struct, frozen=True, kw_only=True):
    """What one pipeline stage holds: layers of each group, and what stands at the ends."""

    counts: tuple[int, ...]
    first: bool
    last: bool


def pipeline_stages(llm: LlmSpec, layout: LayoutSpec) -> tuple[StageLayers, ...]:
    """The layers of each stage, per layer group.

    Layers that do not divide go one each to the stages before the last, from the back, which
    has the LM head already.

    Source:
        vLLM, vllm/distributed/utils.py, get_pp_indices.
    Not modelled:
        VLLM_PP_LAYER_PARTITION; SGLang gives the remainder to the first stages.

    Raises:
        InputError: more stages than layers.
    """
    stages = layout.pipeline_parallel
    if stages > llm.layer_count:
        raise InputError(
            f"pipeline_parallel = {stages}: accepted is up to {llm.layer_count}, "
            f"the layers of {llm.id}"
        )
    return _stages(llm, stages)


@lru_cache(1024)
def _stages(llm: LlmSpec, stages: int) -> tuple[StageLayers, ...]:
    base, rest = divmod(llm.layer_count, stages)
    sizes = [base] * stages
    for index in range(2, rest + 2):
        sizes[-index] += 1
    order = _stack(llm.layers)
    result, start = [], 0
    for index, size in enumerate(sizes):
        part = order[start : start + size]
        counts = tuple(part.count(group) for group in range(len(llm.layers)))
        result.append(StageLayers(counts=counts, first=index == 0, last=index == stages - 1))
        start += size
    return tuple(result)


def _stack(groups: tuple[LayerGroup, ...]) -> list[int]:
    """The group of each layer from the bottom up: a few odd dense layers first, others evenly."""
    total = sum(group.count for group in groups)
    places: list[tuple[float, int]] = []
    for index, group in enumerate(groups):
        first = isinstance(group.feed, DenseFeed) and group.count * 8 < total
        places.extend(
            (-1.0 if first else (nth + 0.5) / group.count, index) for nth in range(group.count)
        )
    return [index for _, index in sorted(places)]
