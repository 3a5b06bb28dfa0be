"""The tables of docs/bench-boundary.md."""

from collections.abc import Sequence
from functools import partial

from benchmarks.boundary.families import FamilyStats, families
from benchmarks.boundary.ours import SPEC, search
from benchmarks.boundary.peers import SEARCHES

_COLUMNS = ("search", "requests a probe", "interval wrong", "number wrong", "requests",
            "wrong intervals by family")  # fmt: skip
PROBES = (50, 100, 200, 400, 800, 1600)


def coverage_table(servers: int) -> str:
    """Coverage, width and price of our search, by family."""
    lines = [
        "| family | servers | covered | median width | mean width | requests | visits |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.family} | {row.servers} | {1 - row.missed:.1%} | {row.median_width:g} | "
        f"{row.mean_width:.2f} | {row.requests:,.0f} | {row.visits:.1f} |"
        for row in families(partial(search, spec=SPEC), servers)
    ]
    return "\n".join(lines)


def comparison_table(servers: int) -> str:
    """Wrong intervals, wrong numbers and requests of each search, by requests of a probe."""
    lines = [
        f"| {' | '.join(_COLUMNS)} |",
        "|---|---|---|---|---|---|",
        _row("proa", "until settled", families(partial(search, spec=SPEC), servers)),
    ]
    for name, peer in SEARCHES.items():
        for count in PROBES:
            rows = families(partial(peer, count=count), servers)
            lines.append(_row(name, f"{count:,}", rows))
    return "\n".join(lines)


def _row(name: str, probe: str, rows: Sequence[FamilyStats]) -> str:
    *each, pooled = rows
    by_family = ", ".join(f"{row.family} {row.missed:.0%}" for row in each)
    return (
        f"| {name} | {probe} | {pooled.missed:.1%} | {pooled.off:.1%} | "
        f"{pooled.requests:,.0f} | {by_family} |"
    )
