"""The same need under every precision: the worked example in GB, GiB and the article's mix."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.errors import FieldError
from proa.planner.memory.levers import (
    KV_DTYPES,
    WEIGHTS,
    LeverRow,
    LeversSpec,
    levers,
)

# 48 layers, 8 KV heads, head dimension 128: 196,608 B per token in FP16; 30 B parameters.
TOKEN_BYTES = {"bf16": 196_608, "fp8": 98_304}
WEIGHTS_BYTES = dict(zip(WEIGHTS, (60 * 10**9, 30 * 10**9, 30 * 10**9, 15 * 10**9), strict=True))
LADDER = (("bf16", "bf16"), ("fp8", "bf16"), ("fp8", "fp8"), ("int4", "fp8"))


def table(contexts: tuple[int, ...] = (32 * 1024,), usable: int | None = None) -> list[LeverRow]:
    spec = LeversSpec(
        weights_bytes=WEIGHTS_BYTES,
        kv_dtypes=KV_DTYPES,
        contexts=contexts,
        sessions=24,
        usable_bytes=usable,
    )
    return list(levers(spec, lambda kv, tokens: TOKEN_BYTES[kv] * tokens))


def mixed(row: LeverRow) -> float:
    """Weights in GB plus KV in GiB, as if they were one unit."""
    return row.weights_bytes / 10**9 + row.kv_bytes / 2**30


def ladder(contexts: tuple[int, ...] = (32 * 1024,)) -> list[LeverRow]:
    rows = {(row.weights, row.kv): row for row in table(contexts)}
    return [rows[step] for step in LADDER]


def test_the_ladder_of_the_worked_example_in_each_unit() -> None:
    rows = ladder()
    assert [round(row.total_bytes / 10**9, 1) for row in rows] == [214.6, 184.6, 107.3, 92.3]
    assert [round(row.total_bytes / 2**30, 1) for row in rows] == [199.9, 171.9, 99.9, 86.0]
    assert [mixed(row) for row in rows] == [204, 174, 102, 87]


def test_adding_gb_to_gib_hides_seven_percent_of_the_kv_part() -> None:
    row = ladder()[0]
    hidden = row.total_bytes / 10**9 - mixed(row)
    assert hidden / (row.kv_bytes / 10**9) == pytest.approx(0.069, abs=5e-4)


def test_every_combination_stands_in_the_table_with_the_keys_of_the_json() -> None:
    rows = table(contexts=(8192, 32768))
    assert len(rows) == 2 * len(WEIGHTS) * len(KV_DTYPES)
    assert [row.context_tokens for row in rows] == [8192] * 8 + [32768] * 8
    assert list(msgspec.to_builtins(rows[0])) == [
        "weights", "kv", "context_tokens", "sessions", "weights_bytes", "kv_bytes_per_session",
        "kv_bytes", "total_bytes", "gpus", "fits_one_gpu",
    ]  # fmt: skip
    assert (rows[0].gpus, rows[0].fits_one_gpu) == (None, None)


def test_gpus_are_counted_by_the_memory_that_the_driver_reports() -> None:
    usable = int(79.19 * 2**30)  # an 80 GB H100
    told = {(row.weights, row.kv): (row.gpus, row.fits_one_gpu) for row in table(usable=usable)}
    assert told["bf16", "bf16"] == (3, False)
    assert told["int4", "fp8"] == (2, False)
    exactly = ladder()[3].total_bytes
    assert [row.fits_one_gpu for row in table(usable=exactly)][-1] is True
    assert [row.fits_one_gpu for row in table(usable=exactly - 1)][-1] is False


@given(total=st.integers(1, 10**13), usable=st.integers(1, 10**12))
@settings(max_examples=30)
def test_one_gpu_fewer_would_not_hold_it(total: int, usable: int) -> None:
    spec = LeversSpec(
        weights_bytes={"fp8": total},
        kv_dtypes=("fp8",),
        contexts=(1,),
        sessions=1,
        usable_bytes=usable,
    )
    (row,) = levers(spec, lambda kv, tokens: 0)
    assert row.gpus is not None
    assert (row.gpus - 1) * usable < total <= row.gpus * usable


@pytest.mark.parametrize(
    ("sessions", "tokens", "field"), [(0, 8192, "sessions"), (1, 0, "context")]
)
def test_a_table_of_nothing_is_refused(sessions: int, tokens: int, field: str) -> None:
    spec = LeversSpec(
        weights_bytes={"bf16": 1}, kv_dtypes=("bf16",), contexts=(tokens,), sessions=sessions
    )
    with pytest.raises(FieldError) as refused:
        levers(spec, lambda kv, tokens: 1)
    assert refused.value.field == field
