"""Which request comes when: every choice of a comparison that chance makes.

The two prompts of a pair are the same text after different numbers of equal length at their
beginning. So the engine has the same to do, and none of the two finds the other one's prefix in
its cache; which number goes to which side is by lot.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from proa.bench.compare.spec import PROBE_TOKENS
from proa.bench.workloads import Prompt, Prompts

_FIRST_NUMBER = 1_000_000


class PlannedPair(msgspec.Struct, frozen=True):
    """`numbers` are the prompts' of the direct side and of the gateway."""

    round: int
    tokens: int
    direct_first: bool
    numbers: tuple[int, int]
    is_probe: bool = False


def planned_rounds(
    tokens: Sequence[int], *, seed: int, probes: int = 0
) -> Iterator[list[PlannedPair]]:
    """Rounds without end: each length once and the probes, shuffled, who goes first by lot.

    Of two rounds, each length goes first to each side once, so that order cancels.
    """
    dice = random.Random(f"{seed} order")
    number = _FIRST_NUMBER
    lengths = [*tokens, *([PROBE_TOKENS] * probes)]
    leads: dict[int, bool] = {}
    for index in count():
        pairs = []
        for turn in dice.sample(range(len(lengths)), len(lengths)):
            leads[turn] = dice.random() < 0.5 if index % 2 == 0 else not leads[turn]
            numbers = (number, number + 1) if dice.random() < 0.5 else (number + 1, number)
            is_probe = turn >= len(tokens)
            pairs.append(PlannedPair(index, lengths[turn], leads[turn], numbers, is_probe))
            number += 2
        yield pairs


def pair_prompts(prompts: Prompts, pair: PlannedPair) -> tuple[Prompt, Prompt]:
    """The prompts of the direct side and of the gateway."""
    base = min(pair.numbers)
    made = msgspec.structs.replace(prompts.make(base), output_tokens=pair.tokens)
    first, second = (_renumbered(made, base, number) for number in pair.numbers)
    return first, second


def _renumbered(prompt: Prompt, old: int, new: int) -> Prompt:
    *before, last = prompt.messages
    text = str(last["content"]).replace(f"{old}.", f"{new}.", 1)
    return msgspec.structs.replace(prompt, messages=[*before, last | {"content": text}])
