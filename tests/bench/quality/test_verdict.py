"""Answers of two endpoints compared."""

import pytest

from proa.bench.quality.answers import QualityAnswer
from proa.bench.quality.cases import QualityCase
from proa.bench.quality.checks import Check
from proa.bench.quality.run import QualityEnd, QualityResult, QualitySpec, QualityStart
from proa.bench.quality.verdict import Verdict, quality_stats
from proa.bench.sample import Failure
from proa.bench.target import TargetSpec

A, B = (TargetSpec(name=name, url="http://h") for name in "ab")


def result(
    right: list[tuple[bool | None, bool | None]],
    again: dict[str, dict[str, QualityAnswer]] | None = None,
) -> QualityResult:
    """A case for each pair; None is a failure."""
    cases = [
        QualityCase(id=f"{n}", messages=[], check=Check(number=1), group=f"g{n % 2}")
        for n in range(len(right))
    ]
    answers = {
        side: {
            case.id: answer(case.id, side, pair[n]) for case, pair in zip(cases, right, strict=True)
        }
        for n, side in enumerate("ab")
    }
    start = QualityStart(
        spec=QualitySpec(a=A, b=B, margin=0.05), targets=(A, B), cases=cases, origin_unix_s=0.0
    )
    end = QualityEnd(is_interrupted=False, took_s=1.0)
    return QualityResult(start, again or answers, end)


def answer(case: str, side: str, right: bool | None) -> QualityAnswer:
    if right is None:
        return QualityAnswer(case=case, side=side, failure=Failure.STATUS, failure_text="400")
    tokens = ["1"] if right else ["2", "3"]
    logprobs = [-0.1 if side == "a" else -0.3] * len(tokens)
    return QualityAnswer(
        case=case, side=side, text="".join(tokens), right=right, tokens=tokens, logprobs=logprobs
    )


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ([(True, True)] * 200, Verdict.KEPT),
        ([(True, True)] * 20, Verdict.UNDECIDED),
        ([(True, True)] * 60 + [(True, False)] * 40, Verdict.WORSE),
        ([(True, True)] * 200 + [(True, None)] * 20, Verdict.FAILING),
    ],
)
def test_a_margin_of_five_points(right: list[tuple[bool, bool]], expected: Verdict) -> None:
    assert quality_stats(result(list(right))).verdict is expected


def test_groups_sameness_and_sureness() -> None:
    same: tuple[bool | None, bool | None] = (True, True)
    lost: tuple[bool | None, bool | None] = (True, False)
    right = [same] * 8 + [lost] * 2
    stats = quality_stats(result([*right, (None, True)]))
    assert [(g.group, g.cases, g.right_b) for g in stats.groups] == [("g0", 5, 4), ("g1", 5, 4)]
    assert (stats.total.right_a, stats.total.right_b, stats.total.mcnemar.only_a) == (10, 8, 2)
    assert (stats.match.same, stats.match.pairs) == (8, 10)
    assert stats.failures == {"a": 1, "b": 0}
    assert stats.logprobs is not None
    assert stats.logprobs.shift.estimate == pytest.approx(-0.2)
    assert stats.logprobs.shift.n == 8


def test_a_with_itself_is_the_yardstick() -> None:
    apart: list[tuple[bool | None, bool | None]] = [(True, False)] * 10
    given = result(apart)
    again = {**given.answers, "a again": given.answers["a"]}
    stats = quality_stats(result(apart, again))
    assert stats.own_match is not None
    assert (stats.own_match.share, stats.match.share) == (1.0, 0.0)
    assert quality_stats(result([(True, True)])).own_match is None


def test_where_nothing_was_answered_nothing_is_said() -> None:
    stats = quality_stats(result([(None, None)]))
    assert (stats.match.share, stats.logprobs, stats.total.cases) == (None, None, 0)
