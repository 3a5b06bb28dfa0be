"""The texts of verbs in two languages, each verb's in `translations/VERB.toml`."""

import argparse
import os
import pkgutil
import tomllib
from collections.abc import Mapping
from functools import cache
from unicodedata import east_asian_width

LANGUAGES = ("ko", "en")


class Texts:
    """The texts of one verb in one language; `say` fills the {names} in."""

    def __init__(self, verb: str, language: str) -> None:
        self.language = language
        self._texts = texts_of(verb)[language]

    def say(self, key: str, **values: object) -> str:
        text = self._texts[key]
        return text.format(**values) if values else text


@cache
def texts_of(verb: str) -> dict[str, dict[str, str]]:
    """All texts of a verb, by language and key; they are for `str.format`."""
    text = pkgutil.get_data(__package__, f"translations/{verb}.toml") or b""
    texts: dict[str, dict[str, str]] = tomllib.loads(text.decode())
    return texts


def add_language(parser: argparse.ArgumentParser) -> None:
    """The flag --lang."""
    parser.add_argument("--lang", choices=LANGUAGES, help="default: from LC_ALL or LANG")


def language_asked(args: argparse.Namespace) -> str:
    """By the flag, else by the locale."""
    return args.lang or language_of(os.environ)


def language_of(environment: Mapping[str, str]) -> str:
    """ "ko" where the locale is Korean, else "en"; LC_ALL wins over LC_MESSAGES and LANG."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "")
    return "ko" if locale.lower().startswith("ko") else "en"


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: Korean letters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def padded(text: str, width: int) -> str:
    """Filled with spaces to `width` columns."""
    return text + " " * (width - columns(text))
