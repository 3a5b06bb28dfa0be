"""Finished tries counted together are what they are counted one by one."""

import os
from bisect import bisect_left
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from proa.domain.lengths import limit_class
from proa.telemetry.finished import EngineTally, Finished
from proa.telemetry.rows import DURATION_BOUNDS_US, ENGINE_CELLS, Engine, SharedRows, engine_base

TOKENS = st.none() | st.integers(1, 10**6)
TIMES = st.integers(0, 10**9) | st.sampled_from(DURATION_BOUNDS_US)
LIMITS = st.none() | st.integers(1, 10**6)
tries = st.lists(
    st.tuples(TIMES, TOKENS, TOKENS, st.integers(0, 10**6), TOKENS, LIMITS), max_size=40
)


def one_by_one(*flushes: list[Finished]) -> list[int]:
    counts = [0] * ENGINE_CELLS
    for us, prompt, told, body_bytes, whole, _ in chain(*flushes):
        counts[Engine.DURATION_SUM_US] += us
        counts[Engine.DURATION_BUCKET + bisect_left(DURATION_BOUNDS_US, us)] += 1
        if prompt is not None:
            counts[Engine.PROMPT_TOKENS] += prompt
            counts[Engine.PROMPT_BYTES] += body_bytes
        if told is not None:
            counts[Engine.COMPLETION_TOKENS] += told
        if whole is not None:
            counts[Engine.ANSWER_TOKENS] += whole
            counts[Engine.ANSWERS] += 1
    for _, _, _, _, whole, limit in (each for finished in flushes for each in finished[:8]):
        if whole is not None:
            counts[Engine.LIMITED_TOKENS + limit_class(limit)] += whole
            counts[Engine.LIMITS + limit_class(limit)] += limit or 1
    return counts


@given(tries, tries)
def test_together_as_one_by_one(first: list[Finished], second: list[Finished]) -> None:
    rows = SharedRows.create(2)
    tally = EngineTally(rows.rows[1], 3)
    for some in (first, second):
        tally.finished.extend(some)
        tally.flush()
    base = engine_base(3)
    assert list(rows.rows[1][base : base + ENGINE_CELLS]) == one_by_one(first, second)
    assert not tally.finished
    os.close(rows.descriptor)
