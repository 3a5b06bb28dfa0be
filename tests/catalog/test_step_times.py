"""Rows of the catalogue: sourced, consistent, and found by the names that users write."""

import pytest

from proa.catalog.gpus import gpu_rows
from proa.catalog.models import known_model
from proa.catalog.step_times import STEP_TIMES, catalogue_timing
from proa.domain.timing import TimingSource


def test_every_row_has_a_source_and_known_gpu() -> None:
    assert all(row.source for row in STEP_TIMES)
    assert {row.gpu for row in STEP_TIMES} <= gpu_rows().keys()


@pytest.mark.parametrize(
    ("gpu", "model", "users", "tokens_per_s"),
    [
        ("rtx-pro-6000-96gb", "Qwen/Qwen3-8B", 20, 1582),
        ("rtx-5060-ti-16gb", "qwen3-8b", 1, 76),
        ("RTX-5060-Ti-16GB", "QWEN/qwen3-8b", 20, 760),
        ("rtx-pro-6000-96gb", "Qwen/Qwen3-14B", 20, 1049),
        ("rtx-5060-ti-16gb", "Qwen3-14B", 20, 326),
        ("rtx-5060-ti-16gb", "llama-3.1-8b-instruct", 20, 760),
    ],
)
def test_published_speeds(gpu: str, model: str, users: int, tokens_per_s: float) -> None:
    timing = catalogue_timing(gpu, model)
    assert timing is not None
    assert users / timing.step.step_s(users) == pytest.approx(tokens_per_s, rel=0.003)
    assert timing.source is TimingSource.CATALOGUE
    assert timing.prefill_tokens_per_s is None


@pytest.mark.parametrize(
    ("gpu", "model"),
    [("h100-80gb", "Qwen/Qwen3-8B"), ("rtx-5060-ti-16gb", "Qwen/Qwen3-32B"), ("", "")],
)
def test_what_was_not_measured_is_not_guessed(gpu: str, model: str) -> None:
    assert catalogue_timing(gpu, model) is None


def test_half_a_name_is_no_name() -> None:
    assert known_model("qwen3") is None
    assert known_model("other/qwen3-8b") is None
