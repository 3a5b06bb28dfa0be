"""The demo's texts and questions, read from `translations/demo.toml`."""

import tomllib
from importlib.resources import files

import msgspec


class Question(msgspec.Struct, frozen=True):
    """One request of the mix; `kind` is faq, classify, chat or report."""

    kind: str
    max_tokens: int
    stream: bool
    text: str

    @property
    def api(self) -> str:
        """The base path that its client uses; FAQs have one of their own."""
        return "/api/faq" if self.kind == "faq" else "/v1"


class Catalogue(msgspec.Struct, frozen=True):
    """Everything in the file; `system` goes before each question, texts are for `str.format`."""

    system: str
    ko: dict[str, str]
    en: dict[str, str]
    questions: tuple[Question, ...]

    def texts(self, language: str) -> dict[str, str]:
        return self.ko if language == "ko" else self.en


def load_catalogue() -> Catalogue:
    text = files("proa.cli").joinpath("translations/demo.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Catalogue)
