"""A start-up log seen as a start: whose model, which layout, which flags."""

import msgspec

from proa.catalog.models import known_model
from proa.domain.llm import LlmSpec
from proa.errors import InputError
from proa.planner.boot_log.facts import BootLog
from proa.planner.fit.profiles import parse_version
from proa.planner.fit.spec import FitSpec, MeasuredMemory
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import KvDtype, parse_kv_dtype

_SAME_MEMORY = 0.03
_SHORT_FORMS = {"float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "q8_0": "int8", "f32": "auto"}


class Kinship(msgspec.Struct, frozen=True, kw_only=True):
    """How near a log is to the start that is asked for; what is not named in it counts as the same.

    `named` is False where the log's model is a path or an unknown name, so that it was taken for
    the model that is asked for.
    """

    model: bool
    named: bool
    layout: bool
    release: bool
    cache: bool

    @property
    def is_same(self) -> bool:
        """Whether overheads of the log are those of the start."""
        return self.model and self.layout and self.release


def same_machine(spec: FitSpec, boot: BootLog) -> bool:
    """Whether the log is of this engine on this GPU, by the memory that the driver reported."""
    if boot.engine != spec.engine:
        return False
    total, usable = boot.gpu_total_bytes, spec.gpu.usable_bytes
    return total is None or abs(total - usable) <= _SAME_MEMORY * usable


def kinship(spec: FitSpec, boot: BootLog) -> Kinship:
    """The log beside the start that is asked for."""
    own = boot_layout(spec, boot)
    asked, logged = spec.engine_version, boot.engine_version
    releases = [parse_version(version) for version in (asked, logged) if version]
    llm = boot_model(spec, boot)
    return Kinship(
        model=llm.id == spec.llm.id,
        named=_is_called(spec.llm, boot.flags.model),
        layout=own == spec.layout,
        release=len(set(releases)) <= 1,
        cache=boot_kv_dtype(boot) == spec.kv_dtype,
    )


def boot_model(spec: FitSpec, boot: BootLog) -> LlmSpec:
    """The log's model by its name in the catalogue; the one that is asked for if it has none."""
    name = boot.flags.model
    if name is None or _is_called(spec.llm, name):
        return spec.llm
    return known_model(name) or known_model(name.rstrip("/").rpartition("/")[2]) or spec.llm


def boot_layout(spec: FitSpec, boot: BootLog) -> LayoutSpec:
    """How the log's engine lay over its GPUs."""
    flags = boot.flags
    if flags.tensor_parallel is None and flags.pipeline_parallel is None:
        return spec.layout
    return LayoutSpec(
        tensor_parallel=flags.tensor_parallel or 1,
        pipeline_parallel=flags.pipeline_parallel or 1,
        data_parallel=spec.layout.data_parallel,
        expert_parallel=spec.layout.expert_parallel
        if flags.expert_parallel is None
        else flags.expert_parallel,
        context_parallel=spec.layout.context_parallel,
    )


def boot_kv_dtype(boot: BootLog) -> KvDtype:
    """The log's cache type; `auto` where the log names none that is known."""
    name = (boot.flags.kv_dtype or "auto").lower()
    try:
        return parse_kv_dtype(_SHORT_FORMS.get(name, name))
    except InputError:
        return KvDtype.AUTO


def boot_start(spec: FitSpec, boot: BootLog) -> FitSpec:
    """The start that the log tells of; flags that it does not name are the engine's defaults."""
    flags = boot.flags
    total = boot.gpu_total_bytes
    return FitSpec(
        llm=boot_model(spec, boot),
        gpu=spec.gpu,
        layout=boot_layout(spec, boot),
        engine=spec.engine,
        engine_version=boot.engine_version or spec.engine_version,
        gpu_memory_utilization=_share(boot),
        max_model_len=flags.max_model_len,
        max_num_batched_tokens=flags.max_num_batched_tokens,
        max_num_seqs=flags.max_num_seqs,
        kv_dtype=boot_kv_dtype(boot),
        plain=spec.plain,
        enforce_eager=bool(flags.enforce_eager),
        block_tokens=spec.block_tokens,
        draft_tokens=spec.draft_tokens,
        measured=None if total is None else MeasuredMemory(gpu_bytes=total),
    )


def _share(boot: BootLog) -> float | None:
    if boot.flags.gpu_memory_utilization is not None:
        return boot.flags.gpu_memory_utilization
    if boot.budget_bytes and boot.gpu_total_bytes:
        return boot.budget_bytes / boot.gpu_total_bytes
    return None


def _is_called(llm: LlmSpec, name: str | None) -> bool:
    """`/models/Qwen3-8B/` and `Qwen/Qwen3-8B` are one name."""
    if name is None:
        return False
    return _tail(name) == _tail(llm.id)


def _tail(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].casefold()
