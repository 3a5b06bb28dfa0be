"""Start-up logs of vLLM as rows, and the start that each was."""

from pathlib import Path

import msgspec

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.domain.llm import ExpertFeed, GroupedAttention, LatentAttention, LinearAttention, LlmSpec
from proa.planner.fit.profiles import parse_version
from proa.planner.fit.spec import FitSpec
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import parse_kv_dtype
from proa.planner.memory.weights import with_precision

BOOTS = Path(__file__).parents[2] / "tests" / "planner" / "data" / "boots.jsonl"

_PINNED = ((0, 11, 0), (0, 34, 0))
_CONSUMER = ("rtx-3", "rtx-4", "rtx-5")


class BootRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One start: its flags, and what the log said in GiB and tokens.

    `complete`: every flag that decides about memory is known. A negative `kv_gib` is a start
    that failed.
    """

    id: str
    source: str
    model: str
    gpu: str
    engine_version: str | None = None
    precision: str | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    context_parallel: int = 1
    expert_parallel: bool = False
    kv_dtype: str | None = None
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    enforce_eager: bool = False
    draft_tokens: int = 0
    weights_gib: float | None = None
    activation_gib: float | None = None
    non_torch_gib: float | None = None
    cuda_graph_gib: float | None = None
    kv_gib: float | None = None
    kv_tokens: int | None = None
    concurrency: float | None = None
    complete: bool = False

    @property
    def is_pinned(self) -> bool:
        """Whether it counts for the targets: nothing unknown, a version with a profile."""
        version = parse_version(self.engine_version or "")
        return self.complete and version is not None and _PINNED[0] <= version < _PINNED[1]


def boot_rows() -> list[BootRow]:
    """All rows of the file."""
    decoder = msgspec.json.Decoder(BootRow)
    return [decoder.decode(line) for line in BOOTS.read_bytes().splitlines()]


def boot_model(row: BootRow) -> LlmSpec:
    """Its model, in the precision that the log names where the catalogue has no such row."""
    llm = find_model(row.model)
    return llm if row.precision is None else with_precision(llm, row.precision)


def boot_spec(row: BootRow) -> FitSpec:
    """The start as `proa fit` would be asked for it."""
    return FitSpec(
        llm=boot_model(row),
        gpu=find_gpu(row.gpu),
        layout=LayoutSpec(
            tensor_parallel=row.tensor_parallel,
            pipeline_parallel=row.pipeline_parallel,
            context_parallel=row.context_parallel,
            expert_parallel=row.expert_parallel,
        ),
        engine_version=row.engine_version,
        gpu_memory_utilization=row.gpu_memory_utilization,
        max_model_len=row.max_model_len,
        max_num_batched_tokens=row.max_num_batched_tokens,
        max_num_seqs=row.max_num_seqs,
        kv_dtype=parse_kv_dtype(row.kv_dtype),
        enforce_eager=row.enforce_eager,
        draft_tokens=row.draft_tokens,
    )


def kinds(row: BootRow) -> list[str]:
    """The slices that a row belongs to."""
    llm = boot_model(row)
    attentions = [group.attention for group in llm.layers]
    feeds = [group.feed for group in llm.layers]
    names = {
        "moe": any(isinstance(feed, ExpertFeed) for feed in feeds),
        "mla": any(isinstance(each, LatentAttention) for each in attentions),
        "hybrid": any(isinstance(each, LinearAttention) for each in attentions),
        "windows": any(isinstance(a, GroupedAttention) and bool(a.window) for a in attentions),
        "quantised": llm.quantization is not None,
        "consumer": row.gpu.startswith(_CONSUMER),
        "amd": row.gpu.startswith("mi"),
    }
    found = [name for name, holds in names.items() if holds]
    return found if names["moe"] or names["hybrid"] else ["dense", *found]
