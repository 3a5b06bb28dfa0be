"""Files of cases, and the cases that are made."""

import pytest

from proa.bench.quality.cases import case_lines, read_cases
from proa.bench.quality.needle import NeedleSpec, needle_cases
from proa.bench.quality.samples import sample_cases
from proa.bench.workloads import Language, TokenScale
from proa.errors import InputError

BOTH = tuple(Language)


def test_a_file_of_ones_own() -> None:
    lines = (
        '{"id": "sum", "group": "sums", "prompt": "17 + 25?", "number": 42, "max_tokens": 16}\n\n'
        '{"messages": [{"role": "user", "content": "hi"}]}\n'
    )
    first, second = read_cases(lines.encode(), name="cases.jsonl")
    assert (first.id, first.group, first.check.number, first.max_tokens) == ("sum", "sums", 42, 16)
    assert (second.id, second.check.named) == ("3", 0)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "c:1"),
        ('{"prompt": "a", "nubmer": 1}', "nubmer"),
        ('{"number": 1}', "c:1"),
        ('{"prompt": "a", "messages": []}', "c:1"),
        ('{"prompt": "a", "max_tokens": 0}', "c:1.max_tokens"),
        ('{"id": 1, "prompt": "a"}\n{"id": "1", "prompt": "b"}', "c:2"),
        ("", "at least one row"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(line: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        read_cases(line.encode(), name="c")


def test_generated_cases_can_be_kept_and_read_again() -> None:
    spec = NeedleSpec(lengths=(200,))
    made = [*sample_cases(16, BOTH, seed=1), *needle_cases(spec, {})]
    assert read_cases(case_lines(made), name="c") == made
    assert len({case.id for case in made}) == len(made)
    assert len({case.group for case in made}) == 8 + 10


@pytest.mark.parametrize("language", BOTH)
@pytest.mark.parametrize("depth", [0.0, 0.3, 1.0])
def test_the_needle_lies_where_it_was_asked_once(language: Language, depth: float) -> None:
    spec = NeedleSpec(lengths=(2000,), depths=(depth,), each=3, languages=(language,), seed=4)
    cases = needle_cases(spec, {language: TokenScale(per_word=2.0, overhead=10.0)})
    assert len({case.check.contains for case in cases}) == 3
    for case in cases:
        text = case.messages[0]["content"]
        code = case.check.contains
        assert code is not None
        assert text.count(code) == 1
        body, _, question = text.rpartition("\n\n")
        assert code not in question
        words = body.split(" ")
        found = next(n for n, word in enumerate(words) if code in word)
        assert found / len(words) == pytest.approx(depth, abs=0.02)
        assert text.count(" ") == pytest.approx(995, abs=3)
