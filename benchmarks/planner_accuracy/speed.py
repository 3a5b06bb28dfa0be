"""Planned against measured serving speeds, by kind of model, engine, GPU and precision."""

from collections.abc import Iterable

import msgspec

from benchmarks.planner_accuracy.served import ServedRow, kinds, served_rows, served_spec
from proa.planner.speed.performance import PerformancePlan, performance


class SpeedCase(msgspec.Struct, frozen=True, kw_only=True):
    """One measured load: the row and the plan."""

    row: ServedRow
    plan: PerformancePlan

    @property
    def tpot_error(self) -> float:
        """Planned / measured - 1."""
        return self.plan.tpot_s * 1e3 / self.row.tpot_ms - 1

    @property
    def ttft_error(self) -> float:
        """Planned / measured - 1."""
        return self.plan.ttft_s * 1e3 / self.row.ttft_ms - 1


class SpeedStats(msgspec.Struct, frozen=True, kw_only=True):
    """Means and medians of relative errors, and shares of loads within one."""

    cases: int
    tpot_mean: float
    tpot_median: float
    tpot_within_20: float
    ttft_median: float
    ttft_within_25: float


def speed_cases(rows: Iterable[ServedRow]) -> list[SpeedCase]:
    """Every row with its plan."""
    return [SpeedCase(row=row, plan=performance(served_spec(row))) for row in rows]


def speed_stats(cases: list[SpeedCase]) -> SpeedStats:
    """The statistics of some cases; there must be one at least."""
    tpot = sorted(abs(case.tpot_error) for case in cases)
    ttft = sorted(abs(case.ttft_error) for case in cases)
    return SpeedStats(
        cases=len(cases),
        tpot_mean=sum(tpot) / len(tpot),
        tpot_median=tpot[len(tpot) // 2],
        tpot_within_20=sum(error <= 0.2 for error in tpot) / len(tpot),
        ttft_median=ttft[len(ttft) // 2],
        ttft_within_25=sum(error <= 0.25 for error in ttft) / len(ttft),
    )


def by_kind(cases: list[SpeedCase]) -> dict[str, SpeedStats]:
    """Statistics of all, and of every slice, by name."""
    slices: dict[str, list[SpeedCase]] = {"all": cases}
    for case in cases:
        for name in kinds(case.row):
            slices.setdefault(name, []).append(case)
    return {name: speed_stats(part) for name, part in slices.items()}


def report() -> str:
    """Tables in Markdown: one engine that does both, disaggregated ones, then the misses."""
    cases = speed_cases(served_rows())
    whole = [case for case in cases if case.row.decode is None]
    split = [case for case in cases if case.row.decode is not None]
    misses = sorted((c for c in whole if abs(c.tpot_error) > 0.2), key=lambda c: c.tpot_error)
    lines = ["One engine for prompts and answers:", "", *_table(by_kind(whole))]
    lines += ["", "Disaggregated (TPOT is the decoding engine's):", "", *_table(by_kind(split))]
    lines += ["", "Loads whose TPOT is off by more than 20 %:", ""]
    return "\n".join([*lines, *map(_line, misses)])


def _table(stats: dict[str, SpeedStats]) -> list[str]:
    head = "| loads of | n | TPOT mean | median | within 20 % | TTFT median | within 25 % |"
    rows = [
        f"| {name} | {s.cases} | {s.tpot_mean:.1%} | {s.tpot_median:.1%} | "
        f"{s.tpot_within_20:.0%} | {s.ttft_median:.1%} | {s.ttft_within_25:.0%} |"
        for name, s in stats.items()
    ]
    return [head, "|---" * 7 + "|", *rows]


def _line(case: SpeedCase) -> str:
    row = case.row
    load = f"{row.isl}/{row.osl} tokens, {row.concurrency} users"
    return f"- {case.tpot_error:+.0%} {row.model} on {row.gpu}, {row.engine}: {load}"
