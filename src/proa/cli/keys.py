"""Add, list and remove API keys.

The file keeps only hashes: a key is printed once, when it is made.
"""

import argparse
import json
import sys
from pathlib import Path

from proa.config.document import read_document
from proa.config.keys_file import add_key, read_keys, remove_key
from proa.errors import ConfigError
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


def run(args: argparse.Namespace) -> int:
    {"add": _add, "list": _list, "remove": _remove}[args.action](args)
    return 0


def _add(args: argparse.Namespace) -> None:
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
    words = f"{args.file} keeps its hash; it is not shown again."
    if not _is_read_by(args.file.parent / "proa.toml", args.file):
        words += f' proa.toml needs: [gateway] api_keys_file = "{args.file}"'
    print(words, file=sys.stderr)


def _is_read_by(config: Path, file: Path) -> bool:
    """Whether the proa.toml beside the keys names them already."""
    try:
        name: str = read_document(config).data["gateway"]["api_keys_file"]
        return (config.parent / name).resolve() == file.resolve()
    except (ConfigError, KeyError, TypeError):
        return False


def _list(args: argparse.Namespace) -> None:
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
    width = max((len(key.name) for key in keys), default=0) + 2
    for key in keys:
        limit = f"at most {key.max_concurrent_requests} requests at a time"
        told = [limit] if key.max_concurrent_requests else []
        told += [f"up to class {key.priority}"] if key.priority is not None else []
        print(f"{key.name:{width}}{', '.join(told + ['admin'] * key.admin)}".rstrip())


def _remove(args: argparse.Namespace) -> None:
    remove_key(args.file, args.name)
    if args.format == "json":
        print(json.dumps({"name": args.name, "file": str(args.file)}))
