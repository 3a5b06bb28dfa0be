"""Small questions with one right answer, made by chance: a first look where one has no cases."""

import random
from collections.abc import Callable

from proa.bench.quality.cases import QualityCase
from proa.bench.quality.checks import Check
from proa.bench.texts.english import ENGLISH
from proa.bench.texts.grammar import Rules, sentence
from proa.bench.texts.korean import KOREAN
from proa.bench.workloads import Language

_Made = tuple[str, Check]
_RULES: dict[Language, Rules] = {Language.ENGLISH: ENGLISH, Language.KOREAN: KOREAN}


def sample_cases(count: int, languages: tuple[Language, ...], *, seed: int) -> list[QualityCase]:
    """`count` cases; kinds and languages take turns."""
    cases = []
    for number in range(count):
        language = languages[number % len(languages)]
        kind = list(_KINDS)[number // len(languages) % len(_KINDS)]
        prompt, check = _KINDS[kind](language, random.Random(f"{seed} {language} {number}"))
        cases.append(
            QualityCase(
                id=f"{kind} {language} {number}",
                group=f"{kind} {language}",
                messages=[{"role": "user", "content": prompt}],
                check=check,
            )
        )
    return cases


def _sum(language: Language, dice: random.Random) -> _Made:
    first, second = dice.randrange(100, 1000), dice.randrange(100, 1000)
    asked = f"{first} + {second} = ? Answer with the number only."
    if language is Language.KOREAN:
        asked = f"{first} + {second} = ? 숫자만 답하십시오."
    return asked, Check(number=first + second)


def _product(language: Language, dice: random.Random) -> _Made:
    first, second = dice.randrange(3, 20), dice.randrange(3, 20)
    asked = f"What is {first} times {second}? Answer with the number only."
    if language is Language.KOREAN:
        asked = f"{first} 곱하기 {second}의 값은 무엇입니까? 숫자만 답하십시오."
    return asked, Check(number=first * second)


def _copy(language: Language, dice: random.Random) -> _Made:
    text = sentence(_RULES[language], dice)
    asked = f"Repeat this sentence exactly, and write nothing else:\n{text}"
    if language is Language.KOREAN:
        asked = f"다음 문장을 그대로 다시 쓰고 다른 말은 쓰지 마십시오.\n{text}"
    return asked, Check(exact=text)


def _largest(language: Language, dice: random.Random) -> _Made:
    numbers = dice.sample(range(100, 1000), 5)
    shown = ", ".join(map(str, numbers))
    asked = f"Which is the largest of {shown}? Answer with the number only."
    if language is Language.KOREAN:
        asked = f"{shown} 가운데 가장 큰 수는 무엇입니까? 숫자만 답하십시오."
    return asked, Check(number=max(numbers))


_KINDS: dict[str, Callable[[Language, random.Random], _Made]] = {
    "sum": _sum,
    "product": _product,
    "copy": _copy,
    "largest": _largest,
}
