"""Training: what was generated is learned, also for sentence patterns that were not seen."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.routing.classify.examples import CLASSES, generate
from proa.routing.classify.model import Classifier
from proa.routing.classify.report import measured
from proa.routing.classify.training import Example, split, train


def test_unseen_patterns_of_both_languages_are_told_apart() -> None:
    known, kept = split(list(generate(700, Random(3))), 0.2, Random(3))
    assert not {e.group for e in known} & {e.group for e in kept}
    classifier = Classifier(train(known, Random(3)))
    stats = measured(classifier, kept)
    assert stats.accuracy is not None
    assert stats.accuracy >= 0.95, stats.mistakes
    for text, label in (
        ("휴가 신청은 어디서 하나요?", "faq"),
        ("Where can I park my bike?", "faq"),
        ("다음 후기를 긍정, 부정으로 분류해 줘: 배송이 빨라요", "classification"),
        ("부장님께 보낼 사과 메일을 써 줘", "chat"),
        ("Write a report on water use of five pages with a summary", "report"),
    ):
        assert classifier.classify(text)[0] == label


def test_the_same_seed_makes_the_same_examples_and_model() -> None:
    one, other = (list(generate(60, Random(7))) for _ in range(2))
    assert one == other
    assert train(one, Random(1)) == train(other, Random(1))
    assert one != list(generate(60, Random(8)))


def test_classes_and_languages_come_in_turn() -> None:
    counts = Counter(e.label for e in generate(80, Random(1)))
    assert counts == dict.fromkeys(CLASSES, 20)
    assert all(max(e.text) >= "\uac00" for e in generate(40, Random(1), ("ko",)))
    assert all(e.text.isascii() for e in generate(40, Random(1), ("en",)))


@given(
    groups=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["", "x", "y", "z"])), min_size=2
    ),
    share=st.floats(0, 0.9),
    seed=st.integers(0, 99),
)
def test_a_split_loses_nothing_and_keeps_groups_together(
    groups: list[tuple[str, str]], share: float, seed: int
) -> None:
    examples = [Example(text=str(i), label=c, group=g) for i, (c, g) in enumerate(groups)]
    known, kept = split(examples, share, Random(seed))
    assert sorted(e.text for e in [*known, *kept]) == sorted(e.text for e in examples)
    both = {(e.label, e.group) for e in known} & {(e.label, e.group) for e in kept}
    assert all(not group for _, group in both)
    assert {e.label for e in known} == {e.label for e in examples}


def test_statistics_count_what_was_told() -> None:
    examples = [Example(text=t, label=c) for t, c in (("aaaa", "a"), ("bbbb", "b"))] * 5
    classifier = Classifier(train(examples, Random(1)))
    stats = measured(classifier, [*examples[:2], Example(text="aaaa", label="b")])
    assert stats.accuracy == pytest.approx(2 / 3, abs=1e-4)
    assert stats.classes["a"].recall == 1.0
    assert stats.classes["a"].precision == 0.5
    assert [(m.label, m.classified_as, m.count) for m in stats.mistakes] == [("b", "a", 1)]
