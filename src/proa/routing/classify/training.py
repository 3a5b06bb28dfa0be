"""Training: multinomial logistic regression by stochastic gradient steps, in plain Python.

A few thousand examples take seconds, so that no numeric library is needed.
"""

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from random import Random

import msgspec

from proa.routing.classify.features import grams
from proa.routing.classify.model import LARGEST_WEIGHT, ClassifierModel, softmax

MOST_GRAMS = 8_192
_RARE = 2
_EPOCHS = 8
_RATE = 0.5
_DECAY = 1e-4
_SATISFIED = 1e-3


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One text with its class. Examples of one `group` (a template, an author) are alike."""

    text: str
    label: str = msgspec.field(name="class")
    group: str = ""


def split(
    examples: Sequence[Example], held_out: float, rng: Random
) -> tuple[list[Example], list[Example]]:
    """Examples to learn from and to test with: about `held_out` of each class.

    Groups stay together where they are named: a test on texts from the very template
    that was learned would flatter.
    """
    known: list[Example] = []
    kept: list[Example] = []
    for label in sorted({example.label for example in examples}):
        groups: dict[str, list[Example]] = {}
        own = [example for example in examples if example.label == label]
        for number, example in enumerate(own):
            groups.setdefault(example.group or f"#{number}", []).append(example)
        names = sorted(groups)
        rng.shuffle(names)
        wanted, taken = held_out * len(own), 0
        for place, name in enumerate(names):
            is_kept = taken < wanted and place < len(names) - 1
            taken += len(groups[name]) * is_kept
            (kept if is_kept else known).extend(groups[name])
    return known, kept


def train(examples: Sequence[Example], rng: Random) -> ClassifierModel:
    """A model of the examples; needs at least two classes.

    Steps are scaled per weight by the gradients that it has seen (AdaGrad), weights
    decay a little, and the n-grams with the largest weights are kept.
    """
    classes = tuple(sorted({example.label for example in examples}))
    known = _vocabulary(examples)
    ids = {gram: number for number, gram in enumerate(known)}
    rows = [_row(example.text, ids) for example in examples]
    targets = [classes.index(example.label) for example in examples]
    learner = _Learner(len(classes), len(known))
    order = list(range(len(rows)))
    for _ in range(_EPOCHS):
        rng.shuffle(order)
        for place in order:
            learner.step(*rows[place], targets[place])
    return _quantised(classes, known, learner)


def _vocabulary(examples: Sequence[Example]) -> list[str]:
    seen: Counter[str] = Counter()
    for example in examples:
        seen.update(set(grams(example.text)))
    least = _RARE if len(examples) >= 50 else 1
    common = [gram for gram, count in seen.items() if count >= least]
    common.sort(key=lambda gram: (-seen[gram], gram))
    return common[: 4 * MOST_GRAMS]


def _row(text: str, ids: dict[str, int]) -> tuple[list[int], float]:
    """The numbers of a text's known n-grams, and the value that each occurrence has."""
    own = grams(text)
    return [ids[gram] for gram in own if gram in ids], 1.0 / sqrt(len(own))


class _Learner:
    def __init__(self, classes: int, grams: int) -> None:
        self.weights = [[0.0] * grams for _ in range(classes)]
        self.biases = [0.0] * classes
        self._squares = [[1e-2] * grams for _ in range(classes)]

    def step(self, ids: list[int], value: float, target: int) -> None:
        """Move towards `target` for a text with n-grams `ids`."""
        sums = [sum(map(weights.__getitem__, ids)) for weights in self.weights]
        scores = [bias + value * total for bias, total in zip(self.biases, sums, strict=True)]
        for place, share in enumerate(softmax(scores)):
            error = share - (place == target)
            if abs(error) < _SATISFIED:
                continue
            self.biases[place] -= 0.05 * error
            self._descend(place, ids, error * value)

    def _descend(self, place: int, ids: list[int], gradient: float) -> None:
        weights, squares, square = self.weights[place], self._squares[place], gradient * gradient
        for number in ids:
            squares[number] += square
            step = gradient + _DECAY * weights[number]
            weights[number] -= _RATE * step / sqrt(squares[number])


def _quantised(classes: tuple[str, ...], known: list[str], learner: _Learner) -> ClassifierModel:
    columns = list(zip(*learner.weights, strict=True))
    order = sorted(range(len(known)), key=lambda i: -max(map(abs, columns[i])))[:MOST_GRAMS]
    largest = max((max(map(abs, columns[i])) for i in order), default=0.0) or 1.0
    # Three digits are enough, and make a file of a third of the size.
    scale = largest / min(999, LARGEST_WEIGHT)
    return ClassifierModel(
        classes=classes,
        biases=tuple(round(bias, 6) for bias in learner.biases),
        scale=scale,
        weights={
            known[i]: tuple(round(weight / scale) for weight in columns[i]) for i in sorted(order)
        },
    )
