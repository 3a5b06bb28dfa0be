"""Sentences out of rules: a symbol in braces becomes one of its alternatives, again and again.

In Korean, `[을/를]` after a word becomes the particle that fits its last letter.
"""

import random
import re
from collections.abc import Iterable, Mapping, Sequence

Rules = Mapping[str, Sequence[str]]

_SYMBOL = re.compile(r"\{(\w+)\}")
_PARTICLE = re.compile(r"(.)\[(.+?)/(.+?)\]")
_PARAGRAPH = 12
_HANGUL, _FINALS, _RIEUL = 0xAC00, 28, 8


def sentence(rules: Rules, dice: random.Random, start: str = "sentence") -> str:
    """One sentence of the grammar."""
    text = f"{{{start}}}"
    while (found := _SYMBOL.search(text)) is not None:
        chosen = dice.choice(rules[found[1]])
        text = text[: found.start()] + chosen + text[found.end() :]
    text = _PARTICLE.sub(_fitting, text)
    return text[0].upper() + text[1:]


def _fitting(found: re.Match[str]) -> str:
    """The first form follows a final consonant, the second a vowel; 으로/로 takes ㄹ as a vowel."""
    letter, closed, opened = found.groups()
    final = (ord(letter) - _HANGUL) % _FINALS if letter >= "가" else 0
    as_vowel = final == 0 or (closed == "으로" and final == _RIEUL)
    return letter + (opened if as_vowel else closed)


class TextSource:
    """Endless text of one language: a stock of sentences, drawn in an order of its own each time.

    Words are what spaces divide (eojeol in Korean). Long texts draw paragraphs, of which there
    are as many as sentences: a prompt is made between two reads of a socket.
    """

    def __init__(self, rules: Rules, *, seed: int = 0, stock: int = 1_000) -> None:
        dice = random.Random(seed)
        made = list({sentence(rules, dice): None for _ in range(stock)})
        self._sentences = _counted(made)
        self._paragraphs = _counted(
            " ".join(dice.choices(made, k=_PARAGRAPH)) for _ in range(stock // 2)
        )
        self._longest = max(length for _, length in self._paragraphs)

    def text(self, words: int, dice: random.Random) -> str:
        """Exactly so many words; the last sentence may be cut."""
        parts: list[str] = []
        left = words
        while left > 0:
            stock = self._paragraphs if left > self._longest else self._sentences
            text, length = stock[int(dice.random() * len(stock))]
            parts.append(text if length <= left else " ".join(text.split(" ", left)[:left]))
            left -= length
        return " ".join(parts)


def _counted(texts: Iterable[str]) -> list[tuple[str, int]]:
    return [(text, text.count(" ") + 1) for text in texts]
