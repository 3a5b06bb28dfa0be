"""The texts of `proa plan`, for one reader or for both languages at once."""

from proa.cli.texts import Texts, texts_of
from proa.planner.text import Text


class PlanTexts(Texts):
    """The texts of one language."""

    def __init__(self, language: str) -> None:
        super().__init__("plan", language)

    def heads(self, *keys: str) -> tuple[str, ...]:
        """Several short texts, as a table's head needs them."""
        return tuple(self.say(key) for key in keys)

    def has(self, key: str) -> bool:
        """Whether there is a text of that name."""
        return key in texts_of("plan")[self.language]


def both(key: str) -> Text:
    """A text in both languages, for what is decided before it is known who reads it."""
    texts = texts_of("plan")
    return Text(texts["ko"][key], texts["en"][key])
