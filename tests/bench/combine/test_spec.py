"""The order of blocks, and what cannot be asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.bench.combine.spec import CombineSpec, block_order
from proa.bench.target import TargetSpec
from proa.errors import InputError

TARGET = TargetSpec(name="t", url="http://h")


@given(st.integers(3, 9), st.integers(0, 99))
def test_each_round_has_each_part_once(rounds: int, seed: int) -> None:
    order = block_order(rounds, seed=seed)
    assert sorted(order) == [(index, part) for index in range(rounds) for part in range(3)]
    assert [index for index, _ in order] == sorted(index for index, _ in order)


def test_orders_differ() -> None:
    orders = {tuple(part for _, part in block_order(3, seed=seed)) for seed in range(20)}
    assert len(orders) > 10


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"rounds": 2}, "rounds"), ({"sites": 0}, "sites"), ({"sites": 9, "users": (8, 9, 9)}, "9")],
)
def test_too_little_is_refused(changes: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        CombineSpec(targets=(TARGET, TARGET, TARGET), **changes)  # type: ignore[arg-type]
