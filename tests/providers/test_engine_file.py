"""Engines in a file: JSON, TOML and Prometheus' form; anything else is a failed look."""

import json
from pathlib import Path

import pytest

from proa.domain.discovery import DiscoveryKind, DiscoverySpec, FoundEngine
from proa.errors import UpstreamError
from proa.providers.engine_file import EngineFile


def place(path: Path) -> EngineFile:
    return EngineFile(DiscoverySpec(name="pool", kind=DiscoveryKind.FILE, path=str(path)))


async def test_json_and_toml_say_the_same(tmp_path: Path) -> None:
    as_json, as_toml = tmp_path / "e.json", tmp_path / "e.toml"
    entry = {"url": "10.0.0.5:8000", "name": "a", "kind": "vllm", "weight": 2.0}
    as_json.write_text(json.dumps({"engines": [entry, {"url": "https://h:1"}]}))
    as_toml.write_text(
        '[[engines]]\nurl = "10.0.0.5:8000"\nname = "a"\nkind = "vllm"\nweight = 2.0\n'
        '[[engines]]\nurl = "https://h:1"\n'
    )
    expected = (
        FoundEngine(url="http://10.0.0.5:8000", name="a", options={"kind": "vllm", "weight": 2.0}),
        FoundEngine(url="https://h:1"),
    )
    assert await place(as_json).look() == expected
    assert await place(as_toml).look() == expected


async def test_a_bare_word_is_left_for_the_check_to_refuse(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"engines": [{"url": "bad"}, {"url": "http://h"}]}))
    assert [engine.url for engine in await place(path).look()] == ["bad", "http://h"]


async def test_the_form_of_prometheus(tmp_path: Path) -> None:
    path = tmp_path / "sd.json"
    labels = {"job": "x", "proa_models": "a, b", "proa_weight": "2", "proa_kind": "tgi"}
    path.write_text(json.dumps([{"targets": ["h:1", "h:2"], "labels": labels}, {"targets": []}]))
    options = {"kind": "tgi", "models": ["a", "b"], "weight": 2.0}
    assert await place(path).look() == (
        FoundEngine(url="http://h:1", options=options),
        FoundEngine(url="http://h:2", options=options),
    )


async def test_an_empty_list_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text("[]")
    assert await place(path).look() == ()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"{}", b"[1]", b'[{"targets": "h:1"}]', b'[{"targets": [1]}]', b"\xff",
        b'{"engines": {}}', b'{"engines": ["h:1"]}', b'{"engines": [{"name": "a"}]}',
        b'{"engines": [{"url": "h:1", "name": 3}]}', b'[{"targets": [], "labels": []}]',
        b'[{"targets": ["h:1"], "labels": {"proa_weight": "much"}}]', b"[" * 100_000,
    ],
)  # fmt: skip
async def test_anything_else_is_a_failed_look(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "e.json"
    path.write_bytes(content)
    with pytest.raises(UpstreamError, match=r"e\.json"):
        await place(path).look()


async def test_a_file_that_is_not_there_is_a_failed_look(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError, match=r"cannot be read \(No such file"):
        await place(tmp_path / "none").look()
