"""What the answers to health probes mean, per kind."""

import pytest
from tests.engines.recorded import recorded

from proa.domain.fleet import EngineKind
from proa.engines.adapters import ADAPTERS
from proa.engines.base import Health, key_refused
from proa.engines.sources import Reply


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (EngineKind.VLLM, "vllm/health"),
        (EngineKind.SGLANG, "sglang/v1_models"),
        (EngineKind.LLAMACPP, "llamacpp/health"),
        (EngineKind.TRITON, "triton/v2_health_ready"),
        (EngineKind.OLLAMA, "sglang/ollama_api_tags"),
        (EngineKind.OPENAI, "vllm/v1_models"),
        (EngineKind.OPENAI, "vllm/err_401"),
        (EngineKind.AUTO, "vllm/err_404"),
    ],
)
def test_up(kind: EngineKind, name: str) -> None:
    assert ADAPTERS[kind].health(recorded(name)) is Health.UP


@pytest.mark.parametrize(
    ("kind", "status", "health"),
    [
        (EngineKind.VLLM, 503, Health.DOWN),
        (EngineKind.TGI, 503, Health.DOWN),
        (EngineKind.LLAMACPP, 503, Health.LOADING),
        (EngineKind.TRITON, 400, Health.LOADING),
        (EngineKind.TRITON, 503, Health.LOADING),
        (EngineKind.SGLANG, 503, Health.MISSED),
        (EngineKind.OPENAI, 503, Health.MISSED),
        (EngineKind.LLAMACPP, 500, Health.MISSED),
        (EngineKind.VLLM, 502, Health.MISSED),
        (EngineKind.OPENAI, 429, Health.UP),
    ],
)
def test_not_up(kind: EngineKind, status: int, health: Health) -> None:
    assert ADAPTERS[kind].health(Reply(status, b"")) is health


def test_a_refused_key_is_told_apart() -> None:
    assert key_refused(recorded("vllm/err_401"))
    assert not key_refused(recorded("vllm/err_404"))
