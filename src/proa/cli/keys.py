"""Add, list and remove API keys.

The file keeps only hashes: a key is printed once, when it is made.
"""

import argparse
import json
import sys
from pathlib import Path

from proa.cli.texts import Texts, add_language, columns, language_asked, padded
from proa.config.document import read_document
from proa.config.keys_file import add_key, read_keys, remove_key
from proa.errors import ConfigError
from proa.gateway.settings import KeySpec
from proa.routing.admission.priority import PRIORITIES, Priority


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="add|list|remove")
    add = actions.add_parser("add", help="make a key and print it")
    add.add_argument("name", metavar="NAME")
    add.add_argument(
        "--max-concurrent-requests", type=int, default=0, metavar="N", help="0: no limit"
    )
    add.add_argument(
        "--priority",
        type=Priority,
        choices=PRIORITIES,
        help="the highest class that its requests may ask for; else that of the route",
    )
    add.add_argument("--admin", action="store_true", help="the key also opens the admin API")
    listing = actions.add_parser("list", help="names and limits of all keys")
    remove = actions.add_parser("remove", help="take a key out of the file")
    remove.add_argument("name", metavar="NAME")
    for action in (add, listing, remove):
        action.add_argument("--file", type=Path, default=Path("keys.toml"), metavar="FILE")
        action.add_argument("--format", choices=("text", "json"), default="text")
        add_language(action)


def run(args: argparse.Namespace) -> int:
    texts = Texts("keys", language_asked(args))
    {"add": _add, "list": _list, "remove": _remove}[args.action](args, texts)
    return 0


def _add(args: argparse.Namespace, texts: Texts) -> None:
    limit = args.max_concurrent_requests
    key = add_key(
        args.file,
        args.name,
        max_concurrent_requests=limit,
        priority=args.priority,
        admin=args.admin,
    )
    if args.format == "json":
        told = {"name": args.name, "key": key, "file": str(args.file)}
        told |= {"max_concurrent_requests": limit, "priority": args.priority}
        print(json.dumps(told | {"admin": args.admin}))
        return
    print(key)
    words = texts.say("kept", file=args.file)
    if not _is_read_by(args.file.parent / "proa.toml", args.file):
        words += f" {texts.say('needed', file=args.file)}"
    print(words, file=sys.stderr)


def _is_read_by(config: Path, file: Path) -> bool:
    """Whether the proa.toml beside the keys names them already."""
    try:
        name: str = read_document(config).data["gateway"]["api_keys_file"]
        return (config.parent / name).resolve() == file.resolve()
    except (ConfigError, KeyError, TypeError):
        return False


def _list(args: argparse.Namespace, texts: Texts) -> None:
    keys = read_keys(args.file)
    if args.format == "json":
        listed = [
            {
                "name": key.name,
                "max_concurrent_requests": key.max_concurrent_requests,
                "priority": key.priority,
                "admin": key.admin,
            }
            for key in keys
        ]
        print(json.dumps({"file": str(args.file), "keys": listed}))
        return
    if not keys:
        print(texts.say("none", file=args.file), file=sys.stderr)
    width = max((columns(key.name) for key in keys), default=0) + 2
    for key in keys:
        print(f"{padded(key.name, width)}{', '.join(_allowed(key, texts))}".rstrip())


def _allowed(key: KeySpec, texts: Texts) -> list[str]:
    """What its requests may do, as far as that differs from the usual."""
    told = []
    if key.max_concurrent_requests:
        told.append(texts.say("limit", count=key.max_concurrent_requests))
    if key.priority is not None:
        told.append(texts.say("priority", priority=key.priority))
    return told + [texts.say("admin")] * key.admin


def _remove(args: argparse.Namespace, texts: Texts) -> None:
    remove_key(args.file, args.name)
    if args.format == "json":
        print(json.dumps({"name": args.name, "file": str(args.file)}))
    else:
        print(texts.say("removed", name=args.name, file=args.file), file=sys.stderr)
