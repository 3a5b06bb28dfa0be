"""Three models on one card of 96 GB."""

import pytest
from msgspec.structs import replace
from tests.planner.engine_starts import start

from proa.catalog.models import find_model
from proa.errors import FieldError
from proa.planner.shared_gpu import TenantSpec, share_gpu

GIB = 2**30


def tenant(model: str, sessions: int, context: int = 8192, version: str = "0.19.0") -> TenantSpec:
    spec = start("vllm", "rtx-pro-6000-96gb", find_model(model), max_num_seqs=sessions)
    spec = replace(spec, engine_version=version)
    return TenantSpec(start=spec, sessions=sessions, context_tokens=context)


THREE = [
    tenant("Qwen/Qwen3-8B", 8),
    tenant("Qwen/Qwen3-14B", 4),
    tenant("Qwen/Qwen3-32B-AWQ", 4),
]


def test_three_models_on_one_card() -> None:
    plan = share_gpu(THREE)
    assert plan.fits
    assert [round(part.weights_bytes / GIB) for part in plan.tenants] == [15, 28, 18]
    assert [part.kv_cache_bytes / GIB for part in plan.tenants] == [9, 5, 8]
    assert sum(part.share for part in plan.tenants) <= 1
    for asked, part in zip(THREE, plan.tenants, strict=True):
        assert part.start.max_concurrency >= asked.sessions
        assert part.needed_bytes <= part.share * plan.gpu_bytes
    held = sum(part.needed_bytes for part in plan.tenants)
    assert 0 < plan.free_bytes < plan.gpu_bytes - held


def test_more_sessions_than_the_card_holds() -> None:
    plan = share_gpu([*THREE, tenant("Qwen/Qwen3-8B", 24, 32_768)])
    assert not plan.fits
    assert plan.free_bytes < 0


def test_graphs_beside_the_share_are_added() -> None:
    beside = share_gpu([tenant("Qwen/Qwen3-8B", 64)])
    inside = share_gpu([tenant("Qwen/Qwen3-8B", 64, version="0.21.0")])
    assert beside.tenants[0].share < inside.tenants[0].share
    assert beside.free_bytes == pytest.approx(inside.free_bytes, abs=1.5 * GIB)


def test_what_is_refused() -> None:
    with pytest.raises(FieldError, match="models = 0"):
        share_gpu([])
    with pytest.raises(FieldError, match="sessions = 0"):
        share_gpu([replace(THREE[0], sessions=0)])
