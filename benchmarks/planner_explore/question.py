"""The question that is asked of every search, and proa's answers to it with their times."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from proa.catalog.gpus import find_gpu, gpu_rows
from proa.catalog.models import find_model
from proa.domain.gpu import GpuSpec
from proa.domain.llm import LlmSpec
from proa.planner.explore.explore import explore
from proa.planner.explore.spec import REPLICAS, ExploreSpec
from proa.planner.fit.spec import FitSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.memory.weights import with_precision
from proa.planner.place.need import NeedSpec
from proa.planner.place.placement import PlacementSpec, place

SESSIONS, INPUT_TOKENS, OUTPUT_TOKENS = 24, 7692, 500
USER_TOKENS_PER_S, TTFT_S = 30.0, 2.0
GPU, MODEL = "h200-141gb", "Qwen/Qwen3-32B"
_CONTEXTS = (8192, 16384, 32768, 65536, 131072)


@dataclass(frozen=True)
class SearchStats:
    """`search_s` is the search alone; `process_s` a whole program with its start, imports and
    data, `cpu_s` the CPU time of that. `configurations` were judged.
    """

    configurations: int
    search_s: float
    answer: str
    process_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def per_s(self) -> float:
        """Configurations per second of the search."""
        return self.configurations / self.search_s

    def line(self) -> tuple[object, ...]:
        """What a program prints of it."""
        return self.configurations, self.search_s, self.answer

    def figures(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self) | {"configurations_per_s": self.per_s}


def need() -> NeedSpec:
    """24 sessions of 8K at 30 tok/s each, 95 % of them answered within 2 s."""
    return NeedSpec(
        sessions=SESSIONS,
        input_tokens=INPUT_TOKENS,
        output_tokens=OUTPUT_TOKENS,
        user_tokens_per_s=USER_TOKENS_PER_S,
        ttft_p95_s=TTFT_S,
    )


def same_question() -> SearchStats:
    """One model in fp8 on one kind of GPU in one engine: what other tools search."""
    spec = _spec((_model("fp8"),), (find_gpu(GPU),), engines=("vllm",), contexts=())
    started = time.perf_counter()
    plan = explore(spec)
    placed = place(PlacementSpec(start=FitSpec(llm=_model("fp8"), gpu=find_gpu(GPU)), need=need()))
    layout = f"TP{placed.tensor_parallel} x PP{placed.pipeline_parallel} x {placed.replicas}"
    answer = f"{placed.gpus} GPUs ({layout}), {placed.binding.value} binds"
    return SearchStats(plan.walked, time.perf_counter() - started, answer)


def whole_space() -> SearchStats:
    """All GPUs of the catalogue, four precisions, two of the cache, three engines, 8K to 128K."""
    variants = tuple(_model(each) for each in ("bf16", "fp8", "int8", "int4"))
    engines = ("vllm", "sglang", "tensorrt-llm")
    spec = _spec(variants, tuple(gpu_rows().values()), engines=engines, contexts=_CONTEXTS)
    started = time.perf_counter()
    plan = explore(spec)
    taken_s = time.perf_counter() - started
    answer = f"{plan.met:,} meet it; {len(plan.points)} points on {len(_CONTEXTS)} fronts"
    return SearchStats(plan.walked, taken_s, answer)


def as_program(search: Callable[[], SearchStats]) -> SearchStats:
    """The same search as a program of its own, whose whole time counts."""
    program = f"import {__name__} as question; print(*question.{search.__name__}().line())"
    (printed, process_s, cpu_s) = timed([sys.executable, "-c", program])
    configurations, search_s, *answer = printed.split()
    return SearchStats(int(configurations), float(search_s), " ".join(answer), process_s, cpu_s)


def timed(command: list[str]) -> tuple[str, float, float]:
    """(what it printed, seconds, CPU seconds) of a program that ends well.

    Raises:
        subprocess.CalledProcessError: it does not; subprocess.TimeoutExpired: not in 15 minutes.
    """
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        command,
        check=True,
        text=True,
        timeout=900,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ran.stdout, time.perf_counter() - started, cpu_s


def _model(precision: str) -> LlmSpec:
    return with_precision(find_model(MODEL), precision)


def _spec(
    variants: tuple[LlmSpec, ...],
    gpus: tuple[GpuSpec, ...],
    *,
    engines: tuple[str, ...],
    contexts: tuple[int, ...],
) -> ExploreSpec:
    return ExploreSpec(
        variants=variants,
        gpus=gpus,
        need=need(),
        contexts=contexts,
        engines=engines,
        kv_dtypes=(KvDtype.AUTO, KvDtype.FP8),
        replicas=REPLICAS,
    )
