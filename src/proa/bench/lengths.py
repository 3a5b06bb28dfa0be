"""How long prompts and answers are asked to be, in tokens."""

import math
import random
from enum import StrEnum

import msgspec

from proa.errors import FieldError
from proa.units import parse_tokens

_ACCEPTED = "tokens as 512 or 8K, normal:MEAN:DEVIATION or lognormal:MEAN:DEVIATION"


class LengthLaw(StrEnum):
    """How lengths spread."""

    FIXED = "fixed"
    NORMAL = "normal"
    LOGNORMAL = "lognormal"


class LengthSpec(msgspec.Struct, frozen=True):
    """Mean and standard deviation of the length itself (not of its logarithm), in tokens."""

    mean: int
    deviation: int = 0
    law: LengthLaw = LengthLaw.FIXED

    def draw(self, dice: random.Random) -> int:
        """One length, at least 1.

        lognormal: sigma² = ln(1 + (deviation / mean)²), mu = ln(mean) - sigma² / 2
        """
        if self.law is LengthLaw.FIXED or not self.deviation:
            return self.mean
        if self.law is LengthLaw.NORMAL:
            return max(1, round(dice.gauss(self.mean, self.deviation)))
        variance = math.log1p((self.deviation / self.mean) ** 2)
        mu = math.log(self.mean) - variance / 2
        return max(1, round(dice.lognormvariate(mu, math.sqrt(variance))))


def parse_length(field: str, text: str) -> LengthSpec:
    """`"500"`, `"8K"`, `"normal:8000:1500"`, `"lognormal:300:200"`.

    Raises:
        FieldError: anything else, or a mean of 0.
    """
    parts = text.strip().split(":")
    try:
        if len(parts) == 1:
            spec = LengthSpec(parse_tokens(parts[0]))
        else:
            name, mean, deviation = parts
            spec = LengthSpec(parse_tokens(mean), parse_tokens(deviation), LengthLaw(name.lower()))
    except ValueError:
        raise FieldError(field, text, _ACCEPTED) from None
    if spec.mean < 1:
        raise FieldError(field, text, f"at least 1 token: {_ACCEPTED}")
    return spec
