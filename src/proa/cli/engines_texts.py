"""The texts of `proa engines`, read from `engines_texts.toml` beside this file."""

import tomllib
from importlib.resources import files


def load_texts(language: str) -> dict[str, str]:
    """The texts of one language; they are for `str.format`."""
    text = files("proa.cli").joinpath("engines_texts.toml").read_text(encoding="utf-8")
    texts: dict[str, dict[str, str]] = tomllib.loads(text)
    return texts[language]
