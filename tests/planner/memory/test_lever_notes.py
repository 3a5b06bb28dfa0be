"""What levers cost and need: every row of the table has a note, with a check by name."""

import pytest

from proa.domain.gpu import GpuSpec
from proa.planner.memory.lever_notes import QUALITY_CHECK, lever_note
from proa.planner.memory.levers import KV_DTYPES, WEIGHTS


def gpu(*precisions: str) -> GpuSpec:
    return GpuSpec(
        id="a100-80gb",
        name="A100",
        vendor="nvidia",
        family="ampere",
        memory_bytes=80 * 10**9,
        usable_bytes=79 * 2**30,
        memory_bytes_per_s=2e12,
        flops=dict.fromkeys(precisions, 1e14),
        pcie_bytes_per_s=32e9,
        tdp_w=400,
        source="test",
    )


@pytest.mark.parametrize(
    ("lever", "choice"),
    [
        *(("weights", name) for name in (*WEIGHTS, "nvfp4", "mxfp4")),
        *(("kv", name) for name in (*KV_DTYPES, "nvfp4")),
    ],
)
def test_every_lever_of_the_table_has_a_note(lever: str, choice: str) -> None:
    note = lever_note(lever, choice)
    assert note is not None
    assert (note.lever, note.choice, note.is_supported) == (lever, choice, None)
    assert note.check == (None if choice == "bf16" else QUALITY_CHECK)
    if choice != "bf16":
        assert "data of your own" in note.costs.en
        assert "자체 데이터" in note.costs.ko


def test_fp8_names_the_families_that_have_it() -> None:
    note = lever_note("weights", "fp8")
    assert note is not None
    for family in ("Ada", "Hopper", "Blackwell", "CDNA", "Gaudi"):
        assert family in note.needs.en
        assert family in note.needs.ko


def test_hardware_without_the_arithmetic_is_told() -> None:
    ampere, hopper = gpu("bf16", "int8"), gpu("bf16", "int8", "fp8")
    told = [
        (note.choice, note.is_supported)
        for name in (*WEIGHTS, "nvfp4")
        if (note := lever_note("weights", name, ampere))
    ]
    assert told == [
        ("bf16", True),
        ("fp8", False),
        ("int8", True),
        ("int4", True),
        ("nvfp4", False),
    ]
    cache = lever_note("kv", "fp8", hopper)
    assert cache is not None
    assert cache.is_supported is True


def test_a_precision_outside_the_table_has_no_note() -> None:
    assert lever_note("kv", "fp16") is None
