"""Retrieval from a long context: one sentence with a number, at a chosen depth in office prose.

What KV cache in fewer bits loses first. Source of the form: Kamradt 2023, "Needle in a haystack".
"""

import random
from collections.abc import Sequence

import msgspec

from proa.bench.quality.cases import QualityCase
from proa.bench.quality.checks import Check
from proa.bench.texts.english import ENGLISH
from proa.bench.texts.grammar import TextSource
from proa.bench.texts.korean import KOREAN
from proa.bench.workloads import Language, TokenScale

_NEEDLE = {
    Language.ENGLISH: "The access code of the {place} is {code}.",
    Language.KOREAN: "{place}의 출입 번호는 {code}번이다.",
}
_QUESTION = {
    Language.ENGLISH: "Above is a long text. What is the access code of the {place}? "
    "Answer with the number only.",
    Language.KOREAN: "위는 긴 글입니다. {place}의 출입 번호는 무엇입니까? 숫자만 답하십시오.",
}
_PLACES = {
    Language.ENGLISH: ("blue tower", "glass pavilion", "east tunnel", "clock room", "old mill"),
    Language.KOREAN: ("푸른 탑", "유리 전시관", "동쪽 터널", "시계방", "옛 방앗간"),
}
_ANSWER_TOKENS = 64


class NeedleSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`lengths` of the context in tokens, `depths` of the needle as shares of it."""

    lengths: tuple[int, ...]
    depths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    each: int = 1
    languages: tuple[Language, ...] = (Language.ENGLISH, Language.KOREAN)
    seed: int = 0


def needle_cases(spec: NeedleSpec, scales: dict[Language, TokenScale]) -> list[QualityCase]:
    """One case for each language, length, depth and repetition; words by the language's scale."""
    return [
        case
        for language in spec.languages
        for case in _of_language(spec, language, scales.get(language, TokenScale()))
    ]


def _of_language(spec: NeedleSpec, language: Language, scale: TokenScale) -> Sequence[QualityCase]:
    rules = KOREAN if language is Language.KOREAN else ENGLISH
    source = TextSource(rules, seed=spec.seed)
    return [
        _case(source, language, (length, depth, number), scale, spec.seed)
        for length in spec.lengths
        for depth in spec.depths
        for number in range(spec.each)
    ]


def _case(
    source: TextSource,
    language: Language,
    cell: tuple[int, float, int],
    scale: TokenScale,
    seed: int,
) -> QualityCase:
    length, depth, number = cell
    dice = random.Random(f"{seed} needle {language} {cell}")
    place, code = dice.choice(_PLACES[language]), f"{dice.randrange(10_000, 100_000)}"
    needle = _NEEDLE[language].format(place=place, code=code)
    question = _QUESTION[language].format(place=place)
    beside = needle.count(" ") + question.count(" ") + 2
    words = max(1, scale.words(max(1.0, length - scale.overhead)) - beside)
    before = round(words * depth)
    parts = [source.text(before, dice), needle, source.text(words - before, dice)]
    text = " ".join(part for part in parts if part)
    group = f"needle {language} {length} {depth:.0%}"
    return QualityCase(
        id=f"{group} {number}",
        group=group,
        messages=[{"role": "user", "content": f"{text}\n\n{question}"}],
        check=Check(contains=code),
        max_tokens=_ANSWER_TOKENS,
    )
