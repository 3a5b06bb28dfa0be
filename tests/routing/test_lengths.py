"""How long answers are expected to be by the limits that clients set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.domain.lengths import LIMIT_CLASSES, limit_class, typical_limit
from proa.domain.load import LoadView
from proa.routing.lengths import LengthLearner
from proa.routing.loads import Loads


def learned(*answers: tuple[int, int | None]) -> Loads:
    """Loads after answers of (tokens, limit)."""
    learner = LengthLearner()
    for tokens, limit in answers:
        seen, limits = [0.0] * LIMIT_CLASSES, [0.0] * LIMIT_CLASSES
        seen[limit_class(limit)], limits[limit_class(limit)] = tokens, limit or 1
        learner.observe(seen, limits)
    loads = Loads(1)
    loads.apply(LoadView(1, (), limit_use=learner.limit_use), ("main",))
    return loads


def test_exact_limits_tell_lengths() -> None:
    loads = learned(*[(tokens, tokens) for tokens in range(300, 400)])
    assert loads.expected_tokens(310) == pytest.approx(310)
    assert loads.expected_tokens(390) == pytest.approx(390)


def test_one_limit_for_all_tells_the_mean() -> None:
    loads = learned(*[(tokens, 4096) for tokens in (50, 100, 150) * 10])
    assert loads.expected_tokens(4096) == pytest.approx(100, rel=0.05)


def test_those_without_a_limit_have_a_mean_of_their_own() -> None:
    loads = learned(*[(700, None)] * 10, *[(20, 32)] * 10)
    assert loads.expected_tokens(None) == pytest.approx(700)
    assert loads.expected_tokens(32) == pytest.approx(20)


def test_a_class_that_is_not_known_has_the_mean_or_the_limit() -> None:
    loads = learned(*[(20, 32)] * 3)
    assert loads.expected_tokens(None) == loads.output_tokens
    assert loads.expected_tokens(100) == 100
    assert loads.expected_tokens(100_000) == loads.output_tokens


def test_what_is_long_ago_is_forgotten() -> None:
    loads = learned(*[(100, 100)] * 500, *[(50, 100)] * 1500)
    assert loads.expected_tokens(100) == pytest.approx(50, rel=0.05)


@given(st.integers(1, 2**70))
def test_every_limit_has_a_class(limit: int) -> None:
    of_class = limit_class(limit)
    assert 1 <= of_class < LIMIT_CLASSES
    if 16 <= limit < 2**15:
        assert limit <= 2 * typical_limit(of_class)
        assert typical_limit(of_class) <= 2 * limit


@given(st.none() | st.integers(1, 2**20), st.lists(st.tuples(st.integers(1, 5000),
       st.none() | st.integers(1, 2**20)), max_size=30))  # fmt: skip
def test_some_tokens_are_always_expected(
    limit: int | None, answers: list[tuple[int, int | None]]
) -> None:
    assert learned(*answers).expected_tokens(limit) > 0.0
