"""GPUs: found by many names, and with facts that fit together."""

import re
from datetime import date

import pytest

from proa.catalog.gpus import find_gpu, gpu_rows, known_gpu
from proa.errors import InputError

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("h100-80gb", "h100-80gb"),
        ("h100", "h100-80gb"),
        ("H100-80GB-SXM", "h100-80gb"),
        ("NVIDIA H100 SXM5 80 GB", "h100-80gb"),
        ("h200_sxm", "h200-141gb"),
        ("H200-141GB-SXM", "h200-141gb"),
        ("5090", "rtx-5090-32gb"),
        ("NVIDIA GeForce RTX 5090", "rtx-5090-32gb"),
        ("RTX 3090 Ti", "rtx-3090-ti-24gb"),
        ("RTX PRO 6000", "rtx-pro-6000-96gb"),
        ("RTX PRO 5000 72GB Blackwell", "rtx-pro-5000-72gb"),
        ("DGX Spark GB10", "dgx-spark-128gb"),
        ("AMD Instinct MI300X", "mi300x-192gb"),
        ("MI300X-192GB", "mi300x-192gb"),
        ("Intel Arc Pro B70 32GB", "arc-pro-b70-32gb"),
        ("A100-80GB", "a100-80gb"),
        ("A100 80 GB", "a100-80gb"),
        ("L40S", "l40s-48gb"),
        ("gb200", "gb200-186gb"),
        ("m3-ultra", "m3-ultra-512gb"),
        ("rngd", "rngd-48gb"),
        ("rtx-5060-ti", "rtx-5060-ti-16gb"),
    ],
)
def test_names_that_people_write(name: str, found: str) -> None:
    assert find_gpu(name).id == found


@pytest.mark.parametrize(
    ("name", "near"), [("rtx-6000-96gb", "rtx-pro-6000-96gb"), ("h101", "h100-80gb"), ("", "gb")]
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(InputError, match="not in the catalogue; nearest: ") as refused:
        find_gpu(name)
    assert near in str(refused.value)
    assert known_gpu(name) is None


@pytest.mark.parametrize(
    ("gpu", "usable_gib"),
    [
        ("h100-80gb", 79.19),
        ("h200-141gb", 139.8),
        ("rtx-5090-32gb", 31.36),
        ("rtx-3090-24gb", 23.57),
        ("rtx-pro-6000-96gb", 94.97),
        ("a100-40gb", 39.50),
        ("dgx-spark-128gb", 121.69),
        ("b200-180gb", 178.35),
        ("l40s-48gb", 44.40),
    ],
)
def test_usable_memory_is_what_drivers_report(gpu: str, usable_gib: float) -> None:
    """From start logs of vLLM and out-of-memory messages of PyTorch in public issues."""
    assert find_gpu(gpu).usable_bytes / GIB == pytest.approx(usable_gib, abs=0.02)


@pytest.mark.parametrize("gpu", gpu_rows().values(), ids=lambda row: row.id)
def test_facts_of_a_row_fit_together(gpu: object) -> None:
    row = gpu_rows()[getattr(gpu, "id")]  # noqa: B009
    assert re.fullmatch(r"[a-z0-9.-]+-[0-9]+gb", row.id)
    assert row.id.endswith(f"-{row.memory_bytes // GIB}gb")
    assert 0.7 * row.memory_bytes <= row.usable_bytes <= row.memory_bytes
    assert {"bf16"} <= set(row.flops) <= {"bf16", "fp8", "int8", "fp4"}
    assert 2e13 <= row.flops["bf16"] <= 3e15
    assert row.flops.get("fp8", row.flops["bf16"]) >= row.flops["bf16"]
    assert 2e11 <= row.memory_bytes_per_s <= 1e13
    assert 1e10 <= row.pcie_bytes_per_s <= 1.3e11
    assert row.link_bytes_per_s is None or row.link_bytes_per_s > row.pcie_bytes_per_s
    assert 50 <= row.tdp_w <= 1500
    assert "; usable: " in row.source
    if row.price is not None:
        assert row.price.amount > 100
        told = f"{row.price.date}-01-01"[:10] if len(row.price.date) < 10 else row.price.date
        assert date(2020, 1, 1) < date.fromisoformat(told) < date(2027, 1, 1)
        assert row.price.currency == "USD"
        assert "https://" in row.price.source or "launch price" in row.price.source


def test_there_are_many_of_them() -> None:
    rows = gpu_rows().values()
    assert len(rows) >= 60
    assert sum(row.price is not None for row in rows) >= 37
    assert {row.vendor for row in rows} >= {
        "nvidia", "amd", "intel", "apple", "rebellions", "furiosa"
    }  # fmt: skip
    aliases = [alias for row in rows for alias in row.aliases]
    assert len(aliases) == len(set(aliases))


@pytest.mark.parametrize(
    ("gpu", "bf16_tflops"),
    [("h100-80gb", 989.4), ("a100-80gb", 312), ("l40s-48gb", 362.05), ("mi300x-192gb", 1307.4)],
)
def test_flops_are_dense(gpu: str, bf16_tflops: float) -> None:
    """Data sheets print twice as much, with sparsity."""
    assert find_gpu(gpu).flops["bf16"] == bf16_tflops * 1e12
