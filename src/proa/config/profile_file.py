"""Profiles of emulated engines: shipped ones by name, others from a TOML file, flags on top."""

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import msgspec

from proa.emulator.profile import EMULATED_KINDS, Batching, EngineProfile, KvLayout, misfit
from proa.errors import ConfigError, InputError

_KEY = re.compile(r" - at `\$\.?([^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_EXPECTED = re.compile(r"Expected `([^`]+)`(?: (>=|>) ([0-9.]+))?")
_FORMS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "null": "nothing",
}
_CHOICES: dict[str, list[str]] = {
    "kind": [kind.value for kind in EMULATED_KINDS],
    "batching": list(Batching),
    "kv": list(KvLayout),
}


def shipped_profiles() -> dict[str, EngineProfile]:
    """The profiles that come with proa, by name."""
    files = resources.files("proa.emulator") / "profiles"
    profiles = {}
    for file in sorted(files.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            table = tomllib.loads(file.read_text(encoding="utf-8"))
            profile = _profile(table, file.name)
            profiles[profile.name] = profile
    return profiles


def load_profile(name_or_file: str, flags: dict[str, object]) -> EngineProfile:
    """A shipped profile or a file's, with the keys in `flags` replaced.

    Raises:
        InputError: there is none of this name, or a key or value cannot be used.
    """
    shipped = resources.files("proa.emulator") / "profiles" / f"{name_or_file}.toml"
    if not name_or_file.endswith(".toml"):
        if "/" in name_or_file or not shipped.is_file():
            names = ", ".join(shipped_profiles())
            raise InputError(f"--profile {name_or_file}: accepted are {names}, or FILE.toml")
        return _profile(tomllib.loads(shipped.read_text(encoding="utf-8")) | flags, name_or_file)
    path = Path(name_or_file)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--profile {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--profile {path}: no TOML: {error}") from None
    table.setdefault("name", path.stem)
    table.setdefault("source", f"the file {path.name}")
    return _profile(table | flags, str(path))


def _profile(table: Mapping[str, object], file: str) -> EngineProfile:
    try:
        profile = msgspec.convert(table, EngineProfile)
    except msgspec.ValidationError as error:
        raise _fault(file, table, str(error)) from None
    wrong = misfit(profile)
    if wrong is not None:
        key, accepted = wrong
        raise ConfigError(file, key, msgspec.to_builtins(getattr(profile, key)), accepted)
    return profile


def _fault(file: str, table: Mapping[str, object], text: str) -> InputError:
    keys = ", ".join(EngineProfile.__struct_fields__)
    if unknown := _UNKNOWN.search(text):
        return ConfigError(file, unknown[1], table.get(unknown[1]), f"one of the keys {keys}")
    if missing := _MISSING.search(text):
        return InputError(f"{file}: {missing[1]} is missing")
    place = _KEY.search(text)
    key = place[1] if place else ""
    name = key.partition("[")[0]
    return ConfigError(file, key, table.get(name), _accepted(name, _KEY.sub("", text)))


def _accepted(key: str, text: str) -> str:
    """What msgspec would accept, in the words of the other messages."""
    if text.startswith("Invalid enum value"):
        return f"one of {', '.join(_CHOICES[key])}"
    if "matching regex" in text:
        return "1 to 128 of A-Z a-z 0-9 . _ / : -, the first a letter or digit"
    if not (expected := _EXPECTED.match(text)):
        return text
    form = " or ".join(_FORMS.get(part, part) for part in expected[1].split(" | "))
    bound = {">=": " from ", ">": " greater than ", None: ""}[expected[2]]
    return f"{form}{bound}{expected[3] or ''}".removesuffix(".0")
