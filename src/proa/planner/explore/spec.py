"""The space that a search walks: every kind of replica, at every context, so many times."""

from collections.abc import Iterator

import msgspec

from proa.domain.gpu import GpuSpec
from proa.domain.llm import LlmSpec
from proa.errors import FieldError
from proa.planner.fit.spec import FitSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.place.engine_support import runs_cache, runs_on, runs_weights
from proa.planner.place.layouts import LayoutLimits, candidate_layouts
from proa.planner.place.need import NeedSpec

REPLICAS = (*range(1, 17), 18, 20, 24, 28, 32, 40, 48, 64)
"""Counts of replicas that are tried."""


class ExploreSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is walked: GPU x TP x PP x expert parallel x weights x KV x engine x replicas x context.

    `variants` are the model in each precision that its quality allows. `contexts` are in tokens,
    input and output together; the output stays the need's. Empty: the need's own alone.
    `gpu_prices` stand in for the catalogue's, in `currency`; GPUs without a price in it take
    part, and are never the cheapest. `margin` as in `PlacementSpec`.
    """

    variants: tuple[LlmSpec, ...]
    gpus: tuple[GpuSpec, ...]
    need: NeedSpec
    contexts: tuple[int, ...] = ()
    engines: tuple[str, ...] = ("vllm", "sglang")
    kv_dtypes: tuple[KvDtype, ...] = (KvDtype.AUTO, KvDtype.FP8)
    replicas: tuple[int, ...] = REPLICAS
    most_gpus: int = 64
    layouts: LayoutLimits = LayoutLimits()
    link: str | None = None
    gpu_memory_utilization: float | None = None
    margin: float = 0.0
    currency: str = "USD"
    gpu_prices: dict[str, float] = {}

    def __post_init__(self) -> None:
        for field in ("variants", "gpus", "engines", "kv_dtypes", "replicas"):
            if not getattr(self, field):
                raise FieldError(field, (), "at least one")
        if min(self.replicas) < 1 or self.most_gpus < 1:
            raise FieldError("replicas", min(self.replicas), "whole numbers from 1")

    def needs(self) -> tuple[NeedSpec, ...]:
        """The need at each context.

        Raises:
            FieldError: a context leaves no room for an input.
        """
        output = self.need.output_tokens
        for context in self.contexts:
            if context <= output:
                raise FieldError("contexts", context, f"more than the output of {output:,} tokens")
        inputs = [context - output for context in self.contexts] or [self.need.input_tokens]
        return tuple(msgspec.structs.replace(self.need, input_tokens=each) for each in inputs)

    def price(self, gpu: GpuSpec) -> float | None:
        """What one costs in `currency`, None where that is not known."""
        own = self.gpu_prices.get(gpu.id)
        known = gpu.price is not None and gpu.price.currency == self.currency
        return gpu.price.amount if own is None and known and gpu.price else own


def replica_kinds(spec: ExploreSpec) -> Iterator[FitSpec]:
    """Every start of an engine that the space has, without those that no engine begins."""
    for llm in spec.variants:
        for engine in spec.engines:
            layouts = candidate_layouts(llm, engine, spec.layouts)
            for gpu in spec.gpus:
                if not (runs_on(engine, gpu) and runs_weights(engine, gpu, llm)):
                    continue
                for kv_dtype in spec.kv_dtypes:
                    if not runs_cache(engine, gpu, kv_dtype):
                        continue
                    for layout in layouts:
                        if layout.gpus <= spec.most_gpus:
                            yield FitSpec(
                                llm=llm,
                                gpu=gpu,
                                layout=layout,
                                engine=engine,
                                kv_dtype=kv_dtype,
                                gpu_memory_utilization=spec.gpu_memory_utilization,
                            )
