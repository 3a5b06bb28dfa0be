"""`proa VERB …`: finds the verb, loads it alone, and turns errors into exit codes.

A verb's module has `configure(parser)` and `run(args) -> exit code`; its docstring is
the description in `proa VERB --help`.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import proa
from proa.errors import InputError, ProaError

VERBS = {
    "demo": ("proa.cli.demo.command", "two real engines behind one gateway, here and now"),
    "serve": ("proa.cli.serve.command", "run the gateway"),
    "check-config": ("proa.cli.check_config", "say what proa.toml asks for, or all that is wrong"),
    "emulate": ("proa.cli.emulate", "an engine without a GPU, for trials and tests"),
    "plan": (
        "proa.cli.plan.command",
        "users to GPUs, speed, cost and clause; or GPUs to what they promise",
    ),
    "fit": (
        "proa.cli.fit.command",
        "what one engine start would log: weights, KV cache, concurrency",
    ),
    "bench": (
        "proa.cli.bench.command",
        "measure an endpoint, and prove that the client was not the limit",
    ),
    "engines": ("proa.cli.engines", "see, add, drain and remove engines of a running gateway"),
    "requests": ("proa.cli.requests", "show and export request records: who asked what of whom"),
    "keys": ("proa.cli.keys", "add, list and remove API keys"),
    "guard": ("proa.cli.guard", "find or mask personal data and secrets in a text"),
    "classify": ("proa.cli.classify", "train and test the request classifier"),
}
"""Verb → its module and its line in `proa --help`."""

INTERRUPTED = 130  # 128 + SIGINT, as shells do
READER_GONE = 141  # 128 + SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code."""
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except ProaError as error:
        print(f"proa: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output once more at its end, and must not fail then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    return code


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0].startswith("-"):
        _top_parser().parse_args(argv)
        _top_parser().print_help(sys.stderr)
        return InputError.exit_code
    verb, *rest = argv
    if verb not in VERBS:
        close = get_close_matches(verb, VERBS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"accepted are {', '.join(VERBS)}"
        raise InputError(f"{verb!r} is no verb of proa: {hint}")
    module = import_module(VERBS[verb][0])
    parser = argparse.ArgumentParser(prog=f"proa {verb}", description=module.__doc__)
    module.configure(parser)
    args, unknown = parser.parse_known_args(rest)
    if unknown:
        raise InputError(_unknown(parser, unknown[0]))
    return int(module.run(args))


def _unknown(parser: argparse.ArgumentParser, word: str) -> str:
    """A word that a verb does not take, with the nearest flags that it has."""
    flag = word.partition("=")[0]
    known = dict.fromkeys(re.findall(r"--[a-z0-9][a-z0-9-]*", parser.format_help()))
    close = get_close_matches(flag, known, n=3) if flag.startswith("-") else []
    hint = f"did you mean {' or '.join(close)}?" if close else f"see {parser.prog} --help"
    return f"{flag!r} is nothing that {parser.prog} takes: {hint}"


def _top_parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS)) + 2
    verbs = "\n".join(f"  {verb:{width}}{line}" for verb, (_, line) in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="proa",
        usage="proa VERB [options]",
        description="Serves language models on unequal GPU servers as one.",
        epilog=f"verbs:\n{verbs}\n\nproa VERB --help tells more of one verb.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"proa {proa.__version__}")
    return parser
