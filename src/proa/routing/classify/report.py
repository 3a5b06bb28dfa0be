"""How well a classifier does on examples."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from proa.routing.classify.model import Classifier
from proa.routing.classify.training import Example


class ClassStats(msgspec.Struct, frozen=True, kw_only=True):
    """`recall`: share of its examples that were told; `precision`: of those told, the true."""

    examples: int
    recall: float | None
    precision: float | None


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """So many examples of one class were taken for another."""

    label: str = msgspec.field(name="class")
    classified_as: str
    count: int


class ClassifierStats(msgspec.Struct, frozen=True, kw_only=True):
    """`accuracy` is the share of right answers; shares are None where nothing was counted."""

    examples: int
    accuracy: float | None
    classes: dict[str, ClassStats]
    mistakes: tuple[Mistake, ...]


def measured(classifier: Classifier, examples: Iterable[Example]) -> ClassifierStats:
    """Classify every example and compare."""
    pairs = Counter((e.label, classifier.classify(e.text)[0]) for e in examples)
    labels = sorted({name for pair in pairs for name in pair} | set(classifier.classes))
    right = sum(count for (label, told), count in pairs.items() if label == told)
    wrong = [(count, *pair) for pair, count in pairs.items() if pair[0] != pair[1]]
    return ClassifierStats(
        examples=pairs.total(),
        accuracy=_share(right, pairs.total()),
        classes={label: _stats(pairs, label) for label in labels},
        mistakes=tuple(
            Mistake(label=label, classified_as=told, count=count)
            for count, label, told in sorted(wrong, key=lambda row: (-row[0], row[1:]))
        ),
    )


def _stats(pairs: Counter[tuple[str, str]], label: str) -> ClassStats:
    own = sum(count for (true, _), count in pairs.items() if true == label)
    told = sum(count for (_, said), count in pairs.items() if said == label)
    return ClassStats(
        examples=own,
        recall=_share(pairs[label, label], own),
        precision=_share(pairs[label, label], told),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
