"""What one start-up log says of other starts on the same machine, by how near they are."""

from collections.abc import Iterable, Iterator
from itertools import permutations

from benchmarks.planner_accuracy.boots import BootRow, boot_rows, boot_spec, kinds
from benchmarks.planner_accuracy.memory import MemoryCase, MemoryStats, memory_stats
from proa.planner.boot_log.facts import GIB, BootFlags, BootLog
from proa.planner.calibration.boot_start import Kinship, kinship, same_machine
from proa.planner.calibration.start import calibrated_fit
from proa.planner.fit.fit import fit

_SLICES = ("all", "dense", "moe", "mla", "hybrid", "windows", "quantised", "amd", "consumer")


def boot_log(row: BootRow) -> BootLog:
    """The row as its log is read."""
    return BootLog(
        engine="vllm",
        engine_version=row.engine_version,
        flags=BootFlags(
            model=row.model,
            gpu_memory_utilization=row.gpu_memory_utilization,
            max_model_len=row.max_model_len,
            max_num_batched_tokens=row.max_num_batched_tokens,
            max_num_seqs=row.max_num_seqs,
            tensor_parallel=row.tensor_parallel,
            pipeline_parallel=row.pipeline_parallel,
            expert_parallel=row.expert_parallel,
            kv_dtype=row.kv_dtype,
            enforce_eager=row.enforce_eager,
        ),
        weights_bytes=_bytes(row.weights_gib),
        activation_bytes=_bytes(row.activation_gib),
        non_torch_bytes=_bytes(row.non_torch_gib),
        cuda_graph_estimated_bytes=_bytes(row.cuda_graph_gib),
        kv_cache_bytes=_bytes(row.kv_gib),
        kv_cache_tokens=row.kv_tokens,
        max_concurrency=row.concurrency,
    )


def pairs(rows: Iterable[BootRow]) -> Iterator[tuple[BootRow, BootRow, Kinship]]:
    """Each start that is asked for, with each log of the same engine on the same GPU."""
    usable = [row for row in rows if row.is_pinned and row.kv_tokens and (row.kv_gib or 0) > 0]
    for asked, logged in permutations(usable, 2):
        if asked.gpu == logged.gpu:
            spec, boot = boot_spec(asked), boot_log(logged)
            if same_machine(spec, boot):
                yield asked, logged, kinship(spec, boot)


def calibrated_case(asked: BootRow, logged: BootRow) -> MemoryCase:
    """One start by another's log."""
    return MemoryCase(row=asked, plan=calibrated_fit(boot_spec(asked), [boot_log(logged)], fit))


def same_starts(rows: Iterable[BootRow]) -> list[MemoryCase]:
    """Starts of one model, release and layout, each by the log of each other."""
    return [calibrated_case(*pair) for *pair, kin in pairs(rows) if kin.is_same]


def report() -> str:
    """Tables in Markdown: by kind of model, then by what the log has in common."""
    cases = same_starts(boot_rows())
    sliced = {name: [c for c in cases if name == "all" or name in kinds(c.row)] for name in _SLICES}
    lines = ["One log of the same model, release and layout:", ""]
    lines += _table({name: memory_stats(part) for name, part in sliced.items() if part})
    lines += ["", "One log that has less in common:", ""]
    return "\n".join([*lines, *_table({name: memory_stats(c) for name, c in _farther().items()})])


def _farther() -> dict[str, list[MemoryCase]]:
    found: dict[str, list[MemoryCase]] = {}
    for asked, logged, kin in pairs(boot_rows()):
        name = _name(kin)
        if name is not None:
            found.setdefault(name, []).append(calibrated_case(asked, logged))
    return found


def _name(kin: Kinship) -> str | None:
    match kin.model, kin.layout, kin.release:
        case True, True, False:
            return "another release"
        case True, False, True:
            return "another layout"
        case False, True, True:
            return "another model"
        case _:
            return None


def _table(stats: dict[str, MemoryStats]) -> list[str]:
    rows = [
        f"| {name} | {s.cases} | {s.median:.3%} | {s.within_half:.0%} | {s.within_1:.0%} | "
        f"{s.within_5:.0%} | {s.worst:.1%} |"
        for name, s in stats.items()
    ]
    return ["| cases of | n | median | within 0.5 % | 1 % | 5 % | worst |", "|---" * 7 + "|", *rows]


def _bytes(gib: float | None) -> int | None:
    return None if gib is None else round(gib * GIB)
