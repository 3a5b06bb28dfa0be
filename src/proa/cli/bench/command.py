"""Measure an OpenAI-compatible endpoint, with proof that the client was not the limit."""

import argparse
from importlib import import_module

SUB_VERBS = {
    "run": ("proa.cli.bench.run", "levels of users or rates against one endpoint or several"),
    "compare": ("proa.cli.bench.compare", "what a gateway adds, straight against through it"),
    "combine": ("proa.cli.bench.combine", "two servers alone and together, and what they gain"),
    "quality": ("proa.cli.bench.quality", "the same questions to two endpoints, checked"),
    "report": ("proa.cli.bench.report", "a run's file as HTML, Markdown, JSON, CSV or Parquet"),
    "verify": ("proa.cli.bench.verify", "a report against its raw files, number by number"),
    "import": ("proa.cli.bench.import_results", "other tools' result files under our definitions"),
}
"""Sub-verb → its module (`configure`, `run`) and its line in the help."""


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, (module_name, told) in SUB_VERBS.items():
        module = import_module(module_name)
        added = verbs.add_parser(name, help=told, description=module.__doc__)
        module.configure(added)


def run(args: argparse.Namespace) -> int:
    return int(import_module(SUB_VERBS[args.action][0]).run(args))
