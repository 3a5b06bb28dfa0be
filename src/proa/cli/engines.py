"""See and manage the engines of a running gateway.

Asks the admin API on control.listen. Changes are kept over reloads and restarts;
proa.toml is not written. Exit codes: 0 done, 1 done with warnings or the gateway
failed, 2 it was refused, 3 no gateway answers.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from proa.cli.texts import add_language, language_asked, texts_of
from proa.domain.address import with_scheme

Texts = dict[str, str]
Answer = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--config", type=Path, default=Path("proa.toml"), metavar="FILE")
    common.add_argument("--control", metavar="HOST:PORT", help="in place of the file's")
    common.add_argument("--api-key-env", metavar="NAME", help="variable with an admin key")
    common.add_argument("--format", choices=("text", "json"), default="text")
    add_language(common)
    verbs = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def verb(name: str, told: str, *, named: bool = True) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=told, description=told, parents=[common])
        if named:
            added.add_argument("name", metavar="NAME")
        return added

    verb("list", "all engines, their state and load", named=False)
    add = verb("add", "add an engine")
    add.add_argument("url", metavar="URL")
    add.add_argument("--kind", help="default: the engine is asked")
    add.add_argument("--model", action="append", metavar="MODEL", help="repeatable")
    add.add_argument("--server", help="engines with the same one share a GPU")
    add.add_argument("--weight", type=float)
    add.add_argument("--max-concurrent-requests", type=int, metavar="N")
    add.add_argument("--engine-key-env", metavar="NAME", help="the gateway's variable")
    verb("drain", "give an engine nothing new")
    verb("undrain", "give an engine requests again")
    remove = verb("remove", "let an engine finish, then take it out")
    remove.add_argument("--now", action="store_true", help="do not wait for running requests")
    remove.add_argument("--timeout-s", type=float, metavar="S", help="longest wait")
    verb("set-weight", "change an engine's weight").add_argument("weight", type=float)
    verb("reload", "read proa.toml again", named=False)


def run(args: argparse.Namespace) -> int:
    from proa.cli.admin_client import client_for

    texts = texts_of("engines")[language_asked(args)]
    client = client_for(args.control, args.config, args.api_key_env)
    answer = _ACTIONS[args.action](args, client.ask)
    if args.format == "json":
        print(json.dumps(answer, ensure_ascii=False))
    elif args.action == "list":
        from proa.cli.engines_view import print_fleet

        print_fleet(answer, texts)
    else:
        print(_line(args, answer, texts))
        for note in answer["notes"]:
            print(texts["note"].format(text=note))
    for warning in answer.get("warnings", ()):
        print(texts["warning"].format(text=warning), file=sys.stderr)
    return 1 if answer.get("warnings") else 0


def _path(args: argparse.Namespace) -> str:
    return f"/admin/engines/{quote(args.name, safe='')}"


def _add(args: argparse.Namespace, ask: Callable[..., Answer]) -> Answer:
    given = {
        "name": args.name,
        "url": with_scheme(args.url),
        "kind": args.kind,
        "models": args.model,
        "server": args.server,
        "weight": args.weight,
        "max_concurrent_requests": args.max_concurrent_requests,
        "api_key_env": args.engine_key_env,
    }
    return ask("POST", "/admin/engines", {k: v for k, v in given.items() if v is not None})


def _remove(args: argparse.Namespace, ask: Callable[..., Answer]) -> Answer:
    query = "?drain=false" if args.now else ""
    if args.timeout_s is not None and not args.now:
        query = f"?timeout_s={args.timeout_s:g}"
    return ask("DELETE", _path(args) + query, wait_s=args.timeout_s or 604_800.0)


_ACTIONS: dict[str, Callable[[argparse.Namespace, Callable[..., Answer]], Answer]] = {
    "list": lambda args, ask: ask("GET", "/admin/engines"),
    "add": _add,
    "drain": lambda args, ask: ask("PATCH", _path(args), {"draining": True}),
    "undrain": lambda args, ask: ask("PATCH", _path(args), {"draining": False}),
    "remove": _remove,
    "set-weight": lambda args, ask: ask("PATCH", _path(args), {"weight": args.weight}),
    "reload": lambda args, ask: ask("POST", "/admin/reload"),
}


def _line(args: argparse.Namespace, answer: Answer, texts: Texts) -> str:
    match args.action:
        case "remove":
            key = "removed" if answer["drained"] else "removed_early"
            return texts[key].format(**answer)
        case "reload":
            key = "reloaded" if answer["file"] else "nothing_to_read"
            return texts[key].format(**answer)
        case _:
            keys = {"add": "added", "drain": "drained", "undrain": "undrained"}
            return texts[keys.get(args.action, "weighted")].format(**answer["engine"])
