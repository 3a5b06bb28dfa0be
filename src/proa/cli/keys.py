"""Add, list, rotate, expire and revoke API keys; tell what their tenants used.

The file keeps only hashes: a key is printed once, when it is made.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from proa.cli.keys_usage import configure_usage, print_usage
from proa.cli.keys_view import key_entry, told_of_key
from proa.cli.texts import Texts, add_language, columns, language_asked, padded
from proa.config.document import read_document
from proa.config.faults import one_fault
from proa.config.keys_edit import NewKey, add_key, expire_key, revoke_key, rotate_key
from proa.config.keys_file import read_keys
from proa.config.moments import read_moment, written
from proa.config.tenants import known_tenants, tenant_names
from proa.domain.tenant import DEFAULT_TENANT
from proa.errors import ConfigError, InputError
from proa.routing.admission.priority import PRIORITIES, Priority

_NEVER = "never"
_FORMS = "90d, 12h, a date (2027-01-31) or a date-time with its zone"


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="add|list|rotate|expire|revoke|usage"
    )
    add = actions.add_parser("add", help="make a key and print it")
    add.add_argument("name", metavar="NAME")
    add.add_argument("--tenant", default=DEFAULT_TENANT, help="who it belongs to; else default")
    add.add_argument("--role", choices=("user", "admin"), default="user",
                     help="admin: the key also opens the admin API")  # fmt: skip
    add.add_argument("--expires", metavar="WHEN", help=f"{_FORMS}; else it has no end")
    add.add_argument(
        "--max-concurrent-requests", type=int, default=0, metavar="N", help="0: no limit"
    )
    add.add_argument(
        "--priority",
        type=Priority,
        choices=PRIORITIES,
        help="the highest class that its requests may ask for; else that of the route",
    )
    listing = actions.add_parser("list", help="all keys, with their tenants, limits and ends")
    rotate = actions.add_parser("rotate", help="make a new key in the place of one, and print it")
    rotate.add_argument("name", metavar="NAME")
    rotate.add_argument("--grace", metavar="WHEN", help="how long the old one works, too; else not")
    expire = actions.add_parser("expire", help="say when a key ends; without --at now")
    expire.add_argument("name", metavar="NAME")
    expire.add_argument("--at", metavar="WHEN", help=f"{_FORMS}, or never")
    revoke = actions.add_parser("revoke", help="take a key out of the file")
    revoke.add_argument("name", metavar="NAME")
    for action in (add, listing, rotate, expire, revoke):
        action.add_argument("--file", type=Path, default=Path("keys.toml"), metavar="FILE")
        action.add_argument("--format", choices=("text", "json"), default="text")
        add_language(action)
    usage = actions.add_parser(
        "usage", help="what tenants used by day, out of the store of [usage]"
    )
    configure_usage(usage)
    add_language(usage)


def run(args: argparse.Namespace) -> int:
    texts = Texts("keys", language_asked(args))
    _ACTIONS[args.action](args, texts, time.time())
    return 0


def _add(args: argparse.Namespace, texts: Texts, now_s: float) -> None:
    _check_tenant(args.file, args.tenant)
    asked = NewKey(
        tenant=args.tenant,
        role=args.role,
        max_concurrent_requests=args.max_concurrent_requests,
        priority=args.priority,
        created_s=now_s,
        expires_s=None if args.expires is None else _moment("--expires", args.expires, now_s),
    )
    key = add_key(args.file, args.name, asked)
    _tell_key(args, texts, key, now_s, texts.say("kept", file=args.file))


def _rotate(args: argparse.Namespace, texts: Texts, now_s: float) -> None:
    until_s = None if args.grace is None else _moment("--grace", args.grace, now_s)
    key = rotate_key(args.file, args.name, old_until_s=until_s)
    kept = texts.say("kept", file=args.file)
    told = "rotated_now" if until_s is None else "rotated"
    ends = texts.say(told, at="" if until_s is None else written(until_s))
    _tell_key(args, texts, key, now_s, f"{kept} {ends}")


def _expire(args: argparse.Namespace, texts: Texts, now_s: float) -> None:
    at_s: float | None = now_s
    if args.at is not None:
        at_s = None if args.at == _NEVER else _moment("--at", args.at, now_s)
    expire_key(args.file, args.name, at_s)
    at = None if at_s is None else written(at_s)
    if args.format == "json":
        print(json.dumps({"name": args.name, "file": str(args.file), "expires": at}))
    else:
        told = "expires_never" if at is None else "expires_set"
        print(texts.say(told, name=args.name, at=at or ""), file=sys.stderr)


def _revoke(args: argparse.Namespace, texts: Texts, now_s: float) -> None:
    revoke_key(args.file, args.name)
    if args.format == "json":
        print(json.dumps({"name": args.name, "file": str(args.file)}))
    else:
        print(texts.say("revoked", name=args.name, file=args.file), file=sys.stderr)


def _list(args: argparse.Namespace, texts: Texts, now_s: float) -> None:
    keys = read_keys(args.file)
    if args.format == "json":
        listed = [key_entry(key, now_s) for key in keys]
        print(json.dumps({"file": str(args.file), "keys": listed}))
        return
    if not keys:
        print(texts.say("none", file=args.file), file=sys.stderr)
    width = max((columns(key.name) for key in keys), default=0) + 2
    for key in keys:
        print(f"{padded(key.name, width)}{', '.join(told_of_key(key, texts, now_s))}".rstrip())


_ACTIONS: dict[str, Callable[[argparse.Namespace, Texts, float], None]] = {
    "add": _add,
    "list": _list,
    "rotate": _rotate,
    "expire": _expire,
    "revoke": _revoke,
    "usage": print_usage,
}


def _tell_key(args: argparse.Namespace, texts: Texts, key: str, now_s: float, words: str) -> None:
    """The key itself alone on standard output, or with all that it is as JSON."""
    if args.format == "json":
        spec = next(each for each in read_keys(args.file) if each.name == args.name)
        told = {"name": args.name, "key": key, "file": str(args.file)}
        print(json.dumps(told | key_entry(spec, now_s)))
        return
    print(key)
    if not _is_read_by(args.file.parent / "proa.toml", args.file):
        words += f" {texts.say('needed', file=args.file)}"
    print(words, file=sys.stderr)


def _moment(flag: str, text: str, now_s: float) -> float:
    try:
        return read_moment(text, now_s)
    except ValueError as error:
        raise InputError(f"{flag} {text}: accepted is {error}") from None


def _check_tenant(file: Path, tenant: str) -> None:
    """A tenant that the proa.toml beside the keys does not have would be refused by it."""
    config = file.parent / "proa.toml"
    if not _is_read_by(config, file):
        return
    names = tenant_names(read_document(config).data)
    if tenant not in names:
        raise one_fault(str(config), f'--tenant "{tenant}"', known_tenants(tenant, names))


def _is_read_by(config: Path, file: Path) -> bool:
    """Whether the proa.toml beside the keys names them already."""
    try:
        name: str = read_document(config).data["gateway"]["api_keys_file"]
        return (config.parent / name).resolve() == file.resolve()
    except (ConfigError, KeyError, TypeError):
        return False
