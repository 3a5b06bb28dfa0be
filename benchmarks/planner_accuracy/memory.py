"""Cache tokens before the first start against what vLLM logged, by kind of model and machine."""

from collections.abc import Callable, Iterable

import msgspec

from benchmarks.planner_accuracy.boots import BootRow, boot_rows, boot_spec, kinds
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitPlan

GIB = 2**30
_SLICES = (
    "all",
    "dense",
    "moe",
    "mla",
    "hybrid",
    "windows",
    "quantised",
    "amd",
    "consumer",
)


class MemoryCase(msgspec.Struct, frozen=True, kw_only=True):
    """One start: the row and the plan."""

    row: BootRow
    plan: FitPlan

    @property
    def error(self) -> float:
        """Planned / logged - 1: of tokens, or of the cache's bytes where no tokens were logged."""
        if self.row.kv_tokens:
            return self.plan.kv_cache_tokens / self.row.kv_tokens - 1
        return self.plan.kv_cache_bytes / GIB / (self.row.kv_gib or 1.0) - 1

    @property
    def is_false_fit(self) -> bool:
        """The plan says that it fits, and the engine did not start or holds less than one."""
        failed = (self.row.kv_gib or 0.0) < 0 or (self.row.concurrency or 1.0) < 1
        return self.plan.fits and failed


class MemoryStats(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of cases within a relative error; `loud` is an error above 10 % without a doubt."""

    cases: int
    median: float
    within_half: float
    within_1: float
    within_3: float
    within_5: float
    worst: float
    loud: int
    false_fits: int


def memory_cases(
    rows: Iterable[BootRow], plan: Callable[[BootRow], FitPlan] = lambda row: fit(boot_spec(row))
) -> list[MemoryCase]:
    """Every row with its plan."""
    return [MemoryCase(row=row, plan=plan(row)) for row in rows]


def memory_stats(cases: list[MemoryCase]) -> MemoryStats:
    """The statistics of some cases; there must be one at least."""
    errors = sorted(abs(case.error) for case in cases)
    count = len(errors)

    def within(most: float) -> float:
        return sum(error <= most for error in errors) / count

    return MemoryStats(
        cases=count,
        median=errors[count // 2],
        within_half=within(0.005),
        within_1=within(0.01),
        within_3=within(0.03),
        within_5=within(0.05),
        worst=errors[-1],
        loud=sum(abs(case.error) > 0.10 and not case.plan.uncertain for case in cases),
        false_fits=sum(case.is_false_fit for case in cases),
    )


def by_kind(cases: list[MemoryCase]) -> dict[str, MemoryStats]:
    """Statistics of every slice that has a case."""
    sliced = {name: [c for c in cases if name == "all" or name in kinds(c.row)] for name in _SLICES}
    return {name: memory_stats(part) for name, part in sliced.items() if part}


def table(stats: dict[str, MemoryStats]) -> list[str]:
    """Lines of a table in Markdown."""
    head = "| cases of | n | median | within 1 % | 3 % | 5 % | worst | loud | false fits |"
    rows = [
        f"| {name} | {s.cases} | {s.median:.2%} | {s.within_1:.0%} | {s.within_3:.0%} | "
        f"{s.within_5:.0%} | {s.worst:.1%} | {s.loud} | {s.false_fits} |"
        for name, s in stats.items()
    ]
    return [head, "|---" * 9 + "|", *rows]


def report() -> str:
    """Tables in Markdown: the pinned versions, then starts of which something is not known."""
    cases = memory_cases(boot_rows())
    pinned = [case for case in cases if case.row.is_pinned]
    other = [case for case in cases if not case.row.is_pinned]
    misses = [case for case in pinned if abs(case.error) > 0.03]
    lines = ["Pinned versions, every flag known:", "", *table(by_kind(pinned))]
    lines += ["", "Version or flags not all known:", "", *table(by_kind(other))]
    lines += ["", "Pinned cases off by more than 3 %:", ""]
    lines += [_line(case) for case in misses]
    return "\n".join(lines)


def _line(case: MemoryCase) -> str:
    row, doubt = case.row, "; ".join(doubt.en for doubt in case.plan.doubts) or "no doubt"
    return f"- {case.error:+.1%} {row.model} on {row.gpu}, vLLM {row.engine_version}: {doubt}"
