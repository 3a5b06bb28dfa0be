"""`python -m benchmarks.boundary [--servers N] [--compared N]`, servers of each family."""

import argparse
import sys

from benchmarks.boundary.table import comparison_table, coverage_table


def main(arguments: list[str]) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boundary")
    parser.add_argument("--servers", type=int, default=250, metavar="N", help="default: 250")
    parser.add_argument("--compared", type=int, default=100, metavar="N", help="default: 100")
    asked = parser.parse_args(arguments)
    print(coverage_table(asked.servers), flush=True)
    print()
    print(comparison_table(asked.compared))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
