"""`python -m benchmarks.planner_explore`: a million configurations, and the same question beside
AIConfigurator's search (--peer DIR, an environment that has it). Nothing is written anywhere.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.planner_explore.peer import PeerError, recommended
from benchmarks.planner_explore.question import (
    SearchStats,
    as_program,
    same_question,
    whole_space,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planner_explore")
    parser.add_argument("--peer", type=Path, help="environment with aiconfigurator")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    rows = {
        "whole space": as_program(whole_space),
        "same question": as_program(same_question),
    }
    if arguments.peer is None:
        print("left out: aiconfigurator (--peer DIR)", file=sys.stderr)
    else:
        try:
            rows["aiconfigurator"] = recommended(arguments.peer)
        except PeerError as error:
            print(f"benchmarks.planner_explore: {error}", file=sys.stderr)
            return 1
    print(table(rows), file=sys.stderr)
    if arguments.format == "json":
        print(json.dumps(data(rows), indent=2))
    return 0


def data(rows: dict[str, SearchStats]) -> dict[str, Any]:
    told: dict[str, Any] = {"machine": machine()}
    told |= {name: stats.figures() for name, stats in rows.items()}
    return told | {"ratios": ratios(rows)}


def ratios(rows: dict[str, SearchStats]) -> dict[str, float]:
    """How many times as long the peer takes for one answer, and as many configurations judged."""
    peer, own = rows.get("aiconfigurator"), rows["same question"]
    if peer is None:
        return {}
    return {
        "search": peer.search_s / own.search_s,
        "whole program": peer.process_s / own.process_s,
        "whole program, CPU": peer.cpu_s / own.cpu_s,
        "configurations per second": rows["whole space"].per_s / peer.per_s,
    }


def table(rows: dict[str, SearchStats]) -> str:
    heads = ("search", "program", "CPU", "per second")
    head = f"{'':16}{'configurations':>16}" + "".join(f"{each:>12}" for each in heads) + "  answer"
    lines = [head]
    for name, stats in rows.items():
        seconds = (stats.search_s, stats.process_s, stats.cpu_s)
        times = "".join(f"{each:>10.2f} s" for each in seconds) + f"{stats.per_s:>12,.0f}"
        lines.append(f"{name:16}{stats.configurations:>16,}{times}  {stats.answer}")
    lines += [f"aiconfigurator / same question, {n}: {v:,.0f}" for n, v in ratios(rows).items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
