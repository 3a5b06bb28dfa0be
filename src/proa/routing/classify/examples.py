"""Examples to learn from, made from sentence patterns: a start until one's own are collected.

The classes are short questions (`faq`), classification and tagging (`classification`),
consultation and e-mail (`chat`), reports and documents (`report`), in Korean and English.
"""

import re
from collections.abc import Iterator
from random import Random
from types import ModuleType

from proa.routing.classify import phrases_en, phrases_ko
from proa.routing.classify.training import Example

LANGUAGES: dict[str, ModuleType] = {"ko": phrases_ko, "en": phrases_en}
CLASSES: tuple[str, ...] = tuple(phrases_en.PATTERNS)
_SLOT = re.compile(r"\{(\w+)\}")


def generate(
    count: int, rng: Random, languages: tuple[str, ...] = ("ko", "en")
) -> Iterator[Example]:
    """`count` examples, the classes and languages in turn; a group is one pattern."""
    kinds = [(label, language) for label in CLASSES for language in languages]
    for number in range(count):
        label, language = kinds[number % len(kinds)]
        phrases = LANGUAGES[language]
        patterns = phrases.PATTERNS[label]
        place = rng.randrange(len(patterns))
        text = _written(patterns[place], phrases, rng)
        yield Example(text=text, label=label, group=f"{label}-{language}-{place}")


def _written(pattern: str, phrases: ModuleType, rng: Random) -> str:
    """The pattern with its slots filled, polite or not, and written as carelessly as people do."""
    text = _SLOT.sub(lambda slot: str(rng.choice(phrases.SLOTS[slot[1]])), pattern)
    text = text[:1].upper() + text[1:]
    text = f"{rng.choice(phrases.OPENERS)}{text}{rng.choice(phrases.CLOSERS)}"
    chance = rng.random()
    if chance < 0.1:
        return text.lower()
    if chance < 0.2:
        return text.rstrip("?!. ")
    return _with_slip(text, rng) if chance < 0.3 else text


def _with_slip(text: str, rng: Random) -> str:
    """One character missing."""
    place = rng.randrange(len(text))
    return text[:place] + text[place + 1 :]
