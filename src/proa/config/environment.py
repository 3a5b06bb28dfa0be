"""The environment: secrets by name, and what systemd says. Nothing else reads it."""

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from proa.config.checks import tables
from proa.config.document import Document, KeyPath
from proa.config.faults import Fault, shown_variable
from proa.config.fields import VARIABLE
from proa.errors import InputError


class ServiceEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """What a service manager passed on (sd_notify(3), sd_listen_fds(3)).

    `listen_fds` are descriptors of listening sockets, `watchdog_s` is the longest
    silence it allows, None for no watchdog.
    """

    notify_socket: str | None = None
    watchdog_s: float | None = None
    listen_fds: tuple[int, ...] = ()


_FIRST_LISTEN_FD = 3  # SD_LISTEN_FDS_START
_NUMBER = re.compile(r"[0-9]{1,15}")


def service_environment(environ: Mapping[str, str] = os.environ, *, pid: int) -> ServiceEnvironment:
    """What the service manager meant for this process; the rest counts as absent."""
    watchdog_us = _number(environ.get("WATCHDOG_USEC"))
    is_ours = _number(environ.get("WATCHDOG_PID", str(pid))) == pid
    count = _number(environ.get("LISTEN_FDS")) if _number(environ.get("LISTEN_PID")) == pid else 0
    return ServiceEnvironment(
        notify_socket=environ.get("NOTIFY_SOCKET") or None,
        watchdog_s=watchdog_us / 1e6 if watchdog_us and is_ours else None,
        listen_fds=tuple(range(_FIRST_LISTEN_FD, _FIRST_LISTEN_FD + count)),
    )


def engine_keys(
    document: Document, environ: Mapping[str, str]
) -> tuple[dict[str, str], list[Fault]]:
    """Values of all variables that `api_key_env` names, and a fault for each unusable one."""
    values: dict[str, str] = {}
    faults: list[Fault] = []
    paths: list[KeyPath] = [
        ("engines", index, "api_key_env") for index, _ in tables(document.data, "engines")
    ]
    for index, source in tables(document.data, "discovery"):
        if isinstance(source.get("engine"), dict):
            paths.append(("discovery", index, "engine", "api_key_env"))
    for path in paths:
        found, unset = engine_key(document, path, environ)
        values |= found
        faults += unset
    return values, faults


def named_key(variable: str, environ: Mapping[str, str]) -> str:
    """The key in a variable that the command line names.

    Raises:
        InputError: it is not set, or holds nothing that can be sent.
    """
    value = environ.get(variable, "") if VARIABLE.fullmatch(variable) else ""
    if value and value.isascii() and value.isprintable() and value.strip() == value:
        return value
    raise InputError(
        f"{shown_variable(variable)}: accepted is the name of a variable that holds a key"
    )


def variable_value(variable: str, environ: Mapping[str, str]) -> str | None:
    """The value of a variable that a setting names; None where it is not set, or empty."""
    return environ.get(variable) or None if VARIABLE.fullmatch(variable) else None


def engine_key(
    document: Document, path: KeyPath, environ: Mapping[str, str]
) -> tuple[dict[str, str], list[Fault]]:
    """The value of the variable named at `path`, or the fault that it has none."""
    variable: Any = document.data
    for part in path:
        variable = variable[part] if isinstance(part, int) else variable.get(part)
    if not isinstance(variable, str) or not VARIABLE.fullmatch(variable):
        return {}, []  # empty is none; other forms are told by validation.py
    value = environ.get(variable, "")
    if value and value.isascii() and value.isprintable() and value.strip() == value:
        return {variable: value}, []
    fault = document.fault(
        path,
        "the name of a variable in the environment that holds the engine's key",
        shown=shown_variable(variable),
        problem="holds no usable key" if value else "is not set",
    )
    return {}, [fault]


def _number(text: str | None) -> int:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else 0
