"""What a classifier's model promises: the packed sums are the plain ones, files are checked."""

from math import sqrt

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.routing.classify.features import READ_CHARACTERS, excerpt, grams
from proa.routing.classify.model import FORMAT, Classifier, ClassifierModel, ready, softmax

WEIGHTS = st.integers(-32_767, 32_767)
TEXTS = st.text(st.sampled_from("ab 가나?\n"), max_size=300)


def model(weights: dict[str, tuple[int, ...]], classes: int = 3) -> ClassifierModel:
    names = tuple("abcdefgh"[:classes])
    return ClassifierModel(
        classes=names, biases=(0.25,) + (0.0,) * (classes - 1), scale=0.01, weights=weights
    )


@given(
    text=TEXTS,
    weights=st.dictionaries(
        st.text(st.sampled_from("ab 가나?"), min_size=2, max_size=3),
        st.tuples(WEIGHTS, WEIGHTS, WEIGHTS),
    ),
)
def test_packed_lanes_sum_like_plain_numbers(
    text: str, weights: dict[str, tuple[int, int, int]]
) -> None:
    made = model(dict(weights))
    two = len(excerpt(text)) - 1
    sums = [sum(weights.get(gram, (0, 0, 0))[k] for gram in grams(text)) for k in range(3)]
    scores = [b + s * 0.01 / sqrt(2 * two) for b, s in zip(made.biases, sums, strict=True)]
    assert Classifier(made).probabilities(text) == pytest.approx(softmax(scores))


@given(text=st.text())
def test_any_text_has_probabilities(text: str) -> None:
    shares = Classifier(model({"ab": (1, 2, 3)})).probabilities(text)
    assert sum(shares) == pytest.approx(1.0)


def test_only_a_bounded_part_of_the_text_counts() -> None:
    classifier = Classifier(model({"xx": (9, 0, 0)}))
    text = "a" * READ_CHARACTERS
    assert classifier.probabilities(text) == classifier.probabilities(text + "x" * 100)
    assert len(excerpt("word " * 100_000)) < 256


def test_the_beginning_and_the_end_count() -> None:
    classifier = Classifier(model({"zq": (999, 0, 0)}))
    plain = classifier.probabilities("a" * 3000)
    for text in ("zq" + "a" * 2998, "a" * 2998 + "zq"):
        assert classifier.probabilities(text)[0] > plain[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "other"},
        {"classes": ["a"], "biases": [0]},
        {"classes": ["a", "a"]},
        {"biases": [0.0]},
        {"weights": {"ab": [1]}},
        {"weights": {"ab": [1, 40_000]}},
        {"weights": {"ab": [1, 0.5]}},
        {"scale": "x"},
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(wrong: dict[str, object]) -> None:
    right = {
        "format": FORMAT, "classes": ["a", "b"], "biases": [0.0, 0.0], "scale": 1.0,
        "weights": {"ab": [1, -1]},
    }  # fmt: skip
    assert ready(msgspec.json.encode(right)).classes == ("a", "b")
    with pytest.raises(msgspec.ValidationError):
        ready(msgspec.json.encode(right | wrong))
