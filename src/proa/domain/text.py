"""What a person reads, in both languages."""

import msgspec


class Text(msgspec.Struct, frozen=True):
    """One statement in Korean and in English."""

    ko: str
    en: str

    def say(self, language: str) -> str:
        """`ko` or `en`; any other language gets English."""
        return self.ko if language == "ko" else self.en

    def fill(self, **values: object) -> "Text":
        """Both with `values` put in, as `str.format` does."""
        return Text(self.ko.format(**values), self.en.format(**values))
