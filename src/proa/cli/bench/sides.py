"""Targets that a sub-verb of `proa bench` knows by name, as direct=URL gateway=URL."""

import argparse
from collections.abc import Sequence

from proa.errors import InputError


def add_sides(parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    """The addresses and what belongs to each; flags given once hold for all."""
    told = " ".join(f"{name}=URL" for name in names)
    parser.add_argument("targets", nargs="*", metavar="NAME=URL", help=f"all of {told}")
    group = parser.add_argument_group("target")
    add = group.add_argument
    add("--model", action="append", metavar="NAME", help="one for all, or one each; default: asked")
    add("--path", action="append", metavar="PATH", help="default: /v1/chat/completions")
    add("--header", action="append", default=[], metavar="NAME:VALUE", help="repeatable")
    add("--api-key-env", action="append", metavar="NAME", help="variable with the API key")
    add("--extra", metavar="JSON", help="further fields of each body, as an object")
    add("--insecure", action="store_true", help="believe any TLS certificate")
    parser.set_defaults(metrics_url=None)


def check_sides(args: argparse.Namespace, names: Sequence[str]) -> None:
    """Put the addresses into the order of `names`. Raises InputError: a name is missing."""
    accepted = " ".join(f"{name}=URL" for name in names)
    given: dict[str, str] = {}
    for text in args.targets:
        name, equals, _ = text.partition("=")
        if not equals or name not in names:
            raise InputError(f"{text!r}: accepted is {accepted}")
        if name in given:
            raise InputError(f"{text!r}: {name} is given twice; accepted is {accepted}")
        given[name] = text
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(f"{' and '.join(missing)} missing; accepted is {accepted}")
    if list(given) != list(names):
        _reorder(args, [list(given).index(name) for name in names])
    args.targets = [given[name] for name in names]


def _reorder(args: argparse.Namespace, order: Sequence[int]) -> None:
    """Flags that are given once for each address follow it."""
    for flag in ("model", "path", "api_key_env"):
        values = getattr(args, flag)
        if values is not None and len(values) == len(order):
            setattr(args, flag, [values[index] for index in order])
