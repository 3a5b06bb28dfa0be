"""`python -m benchmarks.planner_accuracy memory memory-folds calibrated speed speed-folds`."""

import sys

from benchmarks.planner_accuracy import calibrated, memory, memory_folds, speed, speed_folds

_PARTS = {
    "memory": memory.report,
    "memory-folds": memory_folds.report,
    "calibrated": calibrated.report,
    "speed": speed.report,
    "speed-folds": speed_folds.report,
}


def main(arguments: list[str]) -> int:
    """Print the tables of the parts that were named, all without a name."""
    wanted = arguments or list(_PARTS)
    unknown = [name for name in wanted if name not in _PARTS]
    if unknown:
        print(f"{unknown[0]!r}: accepted is {', '.join(_PARTS)}", file=sys.stderr)
        return 2
    for name in wanted:
        print(_PARTS[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
