"""Model lists of real engines."""

import pytest
from tests.engines.recorded import fields, recorded

from proa.domain.fleet import EngineKind, ModelView
from proa.engines.adapters import ADAPTERS
from proa.engines.models import bare_model, openai_models, same_models
from proa.engines.sources import Reply


def listed(kind: EngineKind, name: str) -> tuple[ModelView, ...]:
    models = ADAPTERS[kind].models(recorded(name))
    assert models is not None
    return models


@pytest.mark.parametrize(
    ("kind", "name", "ids"),
    [
        (EngineKind.VLLM, "vllm/v1_models", ["tiny"]),
        (EngineKind.VLLM, "vllm/lora_v1_models", ["tiny", "ad1"]),
        (EngineKind.SGLANG, "sglang/v1_models", ["tiny"]),
        (EngineKind.LLAMACPP, "llamacpp/v1_models", ["smollm2-135m"]),
        (EngineKind.TRITON, "triton/v2_repository_index", ["echo", "llm"]),
        (EngineKind.OLLAMA, "sglang/ollama_api_tags", ["tiny"]),
    ],
)
def test_names_as_recorded(kind: EngineKind, name: str, ids: list[str]) -> None:
    assert [model.id for model in listed(kind, name)] == ids


def test_a_card_is_the_engines_own_object() -> None:
    (model,) = listed(EngineKind.SGLANG, "sglang/v1_models")
    assert bytes(model.card) in recorded("sglang/v1_models").body
    assert fields(model.card)["max_model_len"] == 2048


def test_aliases_are_served_names() -> None:
    body = b'{"data":[{"id":"a","aliases":["a","b"],"meta":{"n":1.10}},{"id":"b"},{"id":"a"}]}'
    models = openai_models(body)
    assert models is not None
    assert [m.id for m in models] == ["a", "b"]
    assert fields(models[1].card)["id"] == "b"
    assert b"1.10" in bytes(models[1].card)


def test_an_ollama_tag_latest_may_be_left_out() -> None:
    body = b'{"models":[{"name":"m:latest","model":"m:latest"},{"name":"q:8b"}]}'
    models = ADAPTERS[EngineKind.OLLAMA].models(Reply(200, body))
    assert models is not None
    assert [m.id for m in models] == ["m:latest", "m", "q:8b"]


def test_triton_lists_ready_models_once() -> None:
    body = b'[{"name":"a","version":"1","state":"READY"},{"name":"a","version":"2","state":"READY"},{"name":"b","version":"1","state":"UNAVAILABLE"},{"name":"c"}]'  # noqa: E501
    models = ADAPTERS[EngineKind.TRITON].models(Reply(200, body))
    assert models is not None
    assert [m.id for m in models] == ["a"]


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b'{"data":{}}', b'{"data":[1]}', b'{"data":[{}]}', b"[" * 100_000]
)
def test_what_is_no_list_is_none(body: bytes) -> None:
    assert openai_models(body) is None
    assert ADAPTERS[EngineKind.TRITON].models(Reply(200, body)) is None
    assert ADAPTERS[EngineKind.OLLAMA].models(Reply(200, body)) is None


def test_an_empty_list_is_a_list() -> None:
    assert openai_models(b'{"object":"list","data":null}') == ()


def test_fields_that_change_at_every_call_are_no_change() -> None:
    body = recorded("vllm/v1_models").body
    later = body.replace(b"1796047499", b"1796049999").replace(b"modelperm-", b"modelperm-9")
    longer = body.replace(b'"max_model_len":1024', b'"max_model_len":2048')
    first, second, third = openai_models(body), openai_models(later), openai_models(longer)
    assert first is not None
    assert second is not None
    assert third is not None
    assert same_models(first, second)
    assert not same_models(first, third)
    assert not same_models(first, ())


def test_a_bare_model_is_an_openai_card() -> None:
    assert fields(bare_model('a"b').card) == {"id": 'a"b', "object": "model"}
