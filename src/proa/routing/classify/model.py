"""A trained classifier: its form in a file, and its use.

    p(class) = softmax of (bias + sum of its n-grams' weights / sqrt(number of n-grams))

The weights of one n-gram for all classes are packed into one integer, a lane of 32 bits
each: summing a text's n-grams is then one addition each, without a loop over classes.
"""

from functools import lru_cache
from itertools import repeat
from math import exp, sqrt

import msgspec

from proa.routing.classify.features import excerpt, pairs, size_gram, triples

FORMAT = "proa-classifier-1"
LARGEST_WEIGHT = 32_767
_LANE_BITS = 32
_LANE = (1 << _LANE_BITS) - 1
_OFFSET = LARGEST_WEIGHT + 1


class ClassifierModel(msgspec.Struct, frozen=True, kw_only=True):
    """What `proa classify train` writes.

    `weights` holds for every known n-gram a whole number per class, in the order of
    `classes`; times `scale` it is the weight. `biases` are not scaled.
    """

    format: str = FORMAT
    classes: tuple[str, ...]
    biases: tuple[float, ...]
    scale: float
    weights: dict[str, tuple[int, ...]]

    def __post_init__(self) -> None:
        """Raises: ValueError: the parts do not fit together."""
        count = len(self.classes)
        if self.format != FORMAT:
            raise ValueError(f'format must be "{FORMAT}", not "{self.format}"')
        if count < 2 or len(set(self.classes)) != count or not all(self.classes):
            raise ValueError("classes must be at least two different names")
        if len(self.biases) != count:
            raise ValueError(f"biases must be {count} numbers, one per class")
        for gram, row in self.weights.items():
            if len(row) != count or any(abs(weight) > LARGEST_WEIGHT for weight in row):
                raise ValueError(
                    f"weights of {gram!r} must be {count} whole numbers "
                    f"from -{LARGEST_WEIGHT} to {LARGEST_WEIGHT}"
                )


class Classifier:
    """A model made ready for use."""

    def __init__(self, model: ClassifierModel) -> None:
        self.classes = model.classes
        self._biases = model.biases
        self._scale = model.scale
        self._packed = {gram: _packed(row) for gram, row in model.weights.items()}

    def probabilities(self, text: str, characters: int | None = None) -> tuple[float, ...]:
        """One per class, in the order of `classes`, summing to 1.

        `characters` is the size of the whole where `text` is only its beginning.
        """
        plain = excerpt(text)
        two = pairs(plain)
        get, nothing = self._packed.get, repeat(0)
        total = sum(map(get, two, nothing)) + sum(map(get, triples(plain, two), nothing))
        total += get(size_gram(len(text) if characters is None else characters), 0)
        hits, factor = total & _LANE, self._scale / sqrt(2 * len(two))
        scores = []
        for bias in self._biases:
            total >>= _LANE_BITS
            scores.append(bias + ((total & _LANE) - hits * _OFFSET) * factor)
        return softmax(scores)

    def classify(self, text: str, characters: int | None = None) -> tuple[str, float]:
        """The most probable class and its probability."""
        shares = self.probabilities(text, characters)
        best = max(range(len(shares)), key=shares.__getitem__)
        return self.classes[best], shares[best]


def softmax(scores: list[float]) -> tuple[float, ...]:
    """Probabilities in proportion to exp(score)."""
    highest = max(scores)
    powers = [exp(score - highest) for score in scores]
    total = sum(powers)
    return tuple(power / total for power in powers)


def _packed(row: tuple[int, ...]) -> int:
    """Lane 0 counts n-grams, so that the offset that keeps lanes positive can be taken off."""
    value = 0
    for weight in reversed(row):
        value = value << _LANE_BITS | (weight + _OFFSET)
    return value << _LANE_BITS | 1


@lru_cache(maxsize=4)
def ready(content: bytes) -> Classifier:
    """The classifier of a model file's content, made once for routers that are built anew.

    Raises:
        msgspec.ValidationError, msgspec.DecodeError: it is no model.
    """
    return Classifier(msgspec.json.decode(content, type=ClassifierModel))
