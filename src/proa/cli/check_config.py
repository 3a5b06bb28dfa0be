"""Say what a proa.toml asks for, or everything that is wrong with it (exit code 2)."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from proa.cli.texts import Texts, add_language, columns, language_asked, padded
from proa.config.document import read_document
from proa.config.faults import ConfigFaults
from proa.config.load import Flags, LoadedConfig, load
from proa.config.remarks import remarks
from proa.domain.discovery import DiscoverySpec
from proa.domain.fleet import EngineSpec
from proa.errors import InputError
from proa.gateway.settings import GatewaySettings
from proa.guard.policy import effective
from proa.routing.admission.priority import Priority
from proa.routing.spec import RouteSpec


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, default=Path("proa.toml"), metavar="FILE")
    parser.add_argument(
        "--insecure", action="store_true", help="allow public addresses without keys"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    try:
        config = load(args.file, Flags(insecure=args.insecure))
    except ConfigFaults as error:
        if args.format == "text":
            raise
        faults = [msgspec.to_builtins(fault) for fault in error.faults]
        print(json.dumps({"ok": False, "file": str(args.file), "faults": faults}))
        return InputError.exit_code
    summary = summarized(config)
    warnings = [str(remark) for remark in remarks(read_document(args.file))]
    if args.format == "json":
        told = {"ok": True, "file": str(args.file), **summary, "warnings": warnings}
        print(json.dumps(told))
        return 0
    texts = Texts("check_config", language_asked(args))
    _print_text(args.file, summary, texts)
    for warning in warnings:
        print(texts.say("warning", text=warning), file=sys.stderr)
    return 0


def summarized(config: LoadedConfig) -> dict[str, Any]:
    """What the settings say, without secrets; the keys are stable."""
    gateway, routing = config.gateway, config.gateway.routing
    return {
        "gateway": {
            "listen": gateway.listen,
            "workers": gateway.workers,
            "tls": gateway.tls is not None,
            "keys": None if gateway.keys is None else len(gateway.keys),
        },
        "control": {"listen": config.control.listen, "keys": len(config.control.keys)},
        "policy": routing.policy.value,
        "engines": [_engine(engine) for engine in gateway.engines],
        "discovery": [_source(source) for source in config.control.discovery],
        "models": [msgspec.to_builtins(model) for model in routing.models],
        "routes": [_route(route) for route in routing.routes],
        "tenants": [tenant.name for tenant in gateway.tenants],
        "guard": _guard(gateway),
        "contract": msgspec.to_builtins(config.contract),
    }


def _engine(engine: EngineSpec) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(engine)
    return told | {"api_key": bool(engine.api_key)}


def _guard(gateway: GatewaySettings) -> dict[str, Any] | None:
    """The rules: of all, and by name of the routes and tenants with words of their own."""
    guard = gateway.guard
    if guard is None:
        return None
    routes, tenants = gateway.route_guards, gateway.tenant_guards
    told: dict[str, Any] = msgspec.to_builtins(effective(guard))
    return told | {
        "detectors": [detector.name for detector in guard.detectors],
        "routes": {name: msgspec.to_builtins(effective(guard, routes[name])) for name in routes},
        "tenants": {
            name: msgspec.to_builtins(effective(guard, None, tenants[name])) for name in tenants
        },
    }


def _source(source: DiscoverySpec) -> dict[str, Any]:
    where = source.address or source.path or source.selector
    return {"name": source.name, "kind": source.kind.value, "where": where}


def _route(route: RouteSpec) -> dict[str, Any]:
    fallback = None if route.fallback_on is None else sorted(route.fallback_on)
    told: dict[str, Any] = msgspec.to_builtins(route) | {"fallback_on": fallback}
    told["match"] = {
        key: dict(value) if key == "headers" else value
        for key, value in told["match"].items()
        if value not in (None, ())
    }
    return told


def _print_text(path: Path, summary: dict[str, Any], texts: Texts) -> None:
    print(texts.say("usable", file=path))
    _print_head(summary, texts)
    say = texts.say
    _print_rows(
        tuple(say(key) for key in ("engine", "url", "kind", "models")),
        [
            (e["name"], e["url"], e["kind"], ", ".join(e["models"]) or say("discovered"))
            for e in summary["engines"]
        ],
    )
    _print_rows(
        tuple(say(key) for key in ("discovery", "kind", "where")),
        [(d["name"], d["kind"], d["where"]) for d in summary["discovery"]],
    )
    _print_rows(
        tuple(say(key) for key in ("route", "match", "prefer", "overflow", "further")),
        [
            (
                r["name"],
                _conditions(r["match"], texts),
                _names(r["prefer"]),
                _overflow(r, texts),
                _rest(r),
            )
            for r in summary["routes"]
        ],
    )


def _print_head(summary: dict[str, Any], texts: Texts) -> None:
    gateway, control, say = summary["gateway"], summary["control"], texts.say
    keys = say("open") if gateway["keys"] is None else say("keys", count=gateway["keys"])
    scheme = "https" if gateway["tls"] else "http"
    about = f"{scheme}, {keys}, {say('workers', count=gateway['workers'])}"
    admin_keys = say("admin_keys", count=control["keys"])
    rows = {
        "gateway": f"{gateway['listen']} ({about})",
        "control": f"{control['listen']} ({admin_keys})",
        "policy": summary["policy"],
    }
    if summary["tenants"]:
        rows["tenants"] = ", ".join(summary["tenants"])
    if summary["guard"] is not None:
        rows["guard"] = _rule(summary["guard"])
        for key in ("routes", "tenants"):
            ruled = summary["guard"][key].items()
            rows |= {f"guard ({name})": _rule(rule) for name, rule in ruled}
    if summary["contract"] is not None:
        rows["contract"] = _promise(summary["contract"], texts)
    said = {key if key.startswith("guard") else say(key): value for key, value in rows.items()}
    width = max(map(columns, said)) + 2
    for key, value in said.items():
        print(f"  {padded(key, width)}{value}")


def _rule(rule: dict[str, Any]) -> str:
    """What a rule of the guard does, in the words of the file."""
    given = rule["modes"] | {
        "keep_on": ",".join(rule["keep_on"]),
        "media": "" if rule["media"] == "allow" else rule["media"],
        "max_input_tokens": rule["max_input_tokens"],
        "max_output_tokens": rule["max_output_tokens"],
        "blocked_patterns": len(rule["blocked_patterns"]),
        "allowed_tools": ",".join(rule["allowed_tools"]),
        "answers": "" if rule["answers"] else "false",
        "detectors": ",".join(rule.get("detectors", ())),
    }
    return " ".join([rule["mode"], *(f"{key}={value}" for key, value in given.items() if value)])


def _promise(contract: dict[str, Any], texts: Texts) -> str:
    said = texts.say("promise", **contract)
    if contract["ttft_p95_s"] is not None:
        said += texts.say("promise_ttft", **contract)
    return said


def _conditions(match: dict[str, Any], texts: Texts) -> str:
    plain = [f"{key}={value}" for key, value in match.items() if key != "headers"]
    headers = [texts.say("header", name=name) for name in match.get("headers", {})]
    return " ".join([*plain, *headers]) or texts.say("all")


def _rest(route: dict[str, Any]) -> str:
    """What else the route says."""
    given = {
        "model": route["model"],
        "fallback_models": ",".join(route["fallback_models"]),
        "priority": None if route["priority"] == Priority.DEFAULT else route["priority"],
        "max_wait_s": route["max_wait_s"],
    }
    return " ".join(f"{key}={value}" for key, value in given.items() if value not in (None, ""))


def _overflow(route: dict[str, Any], texts: Texts) -> str:
    names = _names(route["overflow"])
    if not route["overflow"]:
        return names
    limits = route["overflow_when"]
    asked = [key for key in ("in_flight", "waiting", "predicted_wait_s") if limits[key] is not None]
    told = texts.say("or").join(texts.say(key, limit=limits[key]) for key in asked)
    if not told:
        return texts.say("when_none", names=names)
    return texts.say("above", names=names, limits=told)


def _names(names: list[str]) -> str:
    return ", ".join(names) or "-"


def _print_rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    if not any(row[-1] for row in rows):  # a column that has nothing to say
        head, rows = head[:-1], [row[:-1] for row in rows]
    widths = [max(columns(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print()
    for row in [head, *rows]:
        cells = [padded(cell, width) for cell, width in zip(row, widths, strict=True)]
        print(f"  {'  '.join(cells)}".rstrip())
