"""Classes of results and the detection of kinds, on recorded replies."""

import pytest
from tests.engines.recorded import recorded

from proa.domain.fleet import EngineKind
from proa.domain.outcome import Outcome
from proa.engines.adapters import ADAPTERS, DETECTION, classify, detect
from proa.engines.sources import Reply

LISTS, TAGS, TRITON = DETECTION


@pytest.mark.parametrize("kind", list(EngineKind))
@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.OK),
        (204, Outcome.OK),
        (302, Outcome.OK),
        (400, Outcome.CLIENT_FAULT),
        (401, Outcome.CLIENT_FAULT),
        (404, Outcome.CLIENT_FAULT),
        (405, Outcome.CLIENT_FAULT),
        (408, Outcome.BROKEN),
        (413, Outcome.CLIENT_FAULT),
        (422, Outcome.CLIENT_FAULT),
        (424, Outcome.BROKEN),
        (429, Outcome.BUSY),
        (499, Outcome.CANCELLED),
        (500, Outcome.BROKEN),
        (502, Outcome.BROKEN),
        (503, Outcome.BUSY),
        (504, Outcome.BROKEN),
        (529, Outcome.BROKEN),
    ],
)
def test_every_kind_shares_the_table(kind: EngineKind, status: int, outcome: Outcome) -> None:
    assert classify(kind, status, b"") is outcome


@pytest.mark.parametrize(
    ("kind", "name", "outcome"),
    [
        (EngineKind.VLLM, "vllm/err_admission_503", Outcome.BUSY),
        (EngineKind.VLLM, "vllm/err_unknown_model", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_401", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_too_long_stream", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_405", Outcome.CLIENT_FAULT),
        (EngineKind.SGLANG, "sglang/err_queue_full_503", Outcome.BUSY),
        (EngineKind.SGLANG, "sglang/err_bad_json", Outcome.CLIENT_FAULT),
        (EngineKind.SGLANG, "sglang/err_too_long", Outcome.CLIENT_FAULT),
        (EngineKind.LLAMACPP, "llamacpp/err_too_long", Outcome.CLIENT_FAULT),
        (EngineKind.LLAMACPP, "llamacpp/err_metrics_disabled", Outcome.CLIENT_FAULT),
        (EngineKind.LLAMACPP, "llamacpp/embeddings_not_enabled", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_bad_temperature", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_bad_type", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_embeddings", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_max_tokens_too_large", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_missing_messages", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_no_content_type", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_too_long", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/err_unknown_model_stream", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/minilm_chat_refused", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/lora_load_again", Outcome.CLIENT_FAULT),
        (EngineKind.VLLM, "vllm/lora_load_bad", Outcome.CLIENT_FAULT),
        (EngineKind.SGLANG, "sglang/err_bad_temperature", Outcome.CLIENT_FAULT),
        (EngineKind.SGLANG, "sglang/err_embeddings", Outcome.CLIENT_FAULT),
        (EngineKind.SGLANG, "sglang/err_max_tokens_too_large", Outcome.CLIENT_FAULT),
        (EngineKind.SGLANG, "sglang/err_missing_messages", Outcome.CLIENT_FAULT),
        (EngineKind.SGLANG, "sglang/err_too_long_stream", Outcome.CLIENT_FAULT),
        (EngineKind.SGLANG, "sglang/get_load", Outcome.CLIENT_FAULT),
        (EngineKind.LLAMACPP, "llamacpp/err_missing_messages", Outcome.CLIENT_FAULT),
        (EngineKind.LLAMACPP, "llamacpp/rerank_not_enabled", Outcome.CLIENT_FAULT),
        (EngineKind.TRITON, "triton/v2_models_nope", Outcome.CLIENT_FAULT),
        (EngineKind.TRITON, "triton/v2_models_echo_ready_after_unload", Outcome.CLIENT_FAULT),
        (EngineKind.TRITON, "triton/generate_bad_json", Outcome.CLIENT_FAULT),
        (EngineKind.TRITON, "triton/generate_unknown_model", Outcome.CLIENT_FAULT),
        (EngineKind.TRITON, "triton/v2_models_nope_ready", Outcome.CLIENT_FAULT),
    ],
)
def test_recorded_results(kind: EngineKind, name: str, outcome: Outcome) -> None:
    reply = recorded(name)
    assert classify(kind, reply.status, reply.body) is outcome


LOADING = b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'


def test_a_loading_llama_cpp_is_not_ready_and_not_busy() -> None:
    assert classify(EngineKind.LLAMACPP, 503, LOADING) is Outcome.NOT_READY
    assert classify(EngineKind.LLAMACPP, 503, b"no slot available") is Outcome.BUSY


def test_exceptions_belong_to_their_engine_only() -> None:
    bad_json = recorded("triton/generate_bad_json")
    assert classify(EngineKind.VLLM, bad_json.status, bad_json.body) is Outcome.BROKEN
    assert classify(EngineKind.TRITON, 500, b'{"error":"cuda"}') is Outcome.BROKEN
    assert classify(EngineKind.OPENAI, 501, b"") is Outcome.BROKEN


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("vllm/v1_models", EngineKind.VLLM),
        ("vllm/lora_v1_models", EngineKind.VLLM),
        ("sglang/v1_models", EngineKind.SGLANG),
        ("llamacpp/v1_models", EngineKind.LLAMACPP),
        ("triton/openai_chat_404", None),
        ("vllm/err_401", None),
    ],
)
def test_the_model_list_names_the_kind(name: str, kind: EngineKind | None) -> None:
    assert detect(LISTS, recorded(name)) is kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"object":"list","data":[{"id":"m","owned_by":"acme"}]}', EngineKind.OPENAI),
        (b'{"object":"list","data":[{"id":"a/b","created":0,"owned_by":"a/b"}]}', EngineKind.TGI),
        (b'{"object":"list","data":[{"id":"m:latest","owned_by":"library"}]}', EngineKind.OLLAMA),
        (b'{"object":"list","data":null}', None),
        (b'{"object":"list","data":[]}', None),
        (b"Ollama is running", None),
        (b"[" * 100_000, None),
    ],
)
def test_owners_in_lists_that_were_not_recorded(body: bytes, kind: EngineKind | None) -> None:
    assert detect(LISTS, Reply(200, body)) is kind


def test_a_loading_llama_cpp_gives_itself_away() -> None:
    assert detect(LISTS, Reply(503, LOADING)) is EngineKind.LLAMACPP
    assert detect(LISTS, Reply(503, b"")) is None


def test_the_later_probes() -> None:
    assert detect(TAGS, Reply(200, b'{"models":[]}')) is EngineKind.OLLAMA
    assert detect(TAGS, recorded("triton/openai_chat_404")) is None
    assert detect(TRITON, recorded("triton/v2")) is EngineKind.TRITON
    assert detect(TRITON, recorded("vllm/err_404")) is None
    assert detect(TRITON, Reply(200, b"<html>")) is None


def test_no_probe_generates_a_token_or_is_missing() -> None:
    assert set(ADAPTERS) == set(EngineKind)
    sglang = ADAPTERS[EngineKind.SGLANG]
    assert sglang.health_probe.path == "/v1/models"
    assert {a.health_probe.method for a in ADAPTERS.values()} == {"GET"}


@pytest.mark.parametrize(
    ("kind", "status", "body", "outcome"),
    [  # written after the engines' protocols, not recorded
        (EngineKind.TGI, 429, b'{"error":"Model is overloaded","error_type":"overloaded"}',
         Outcome.BUSY),
        (EngineKind.TGI, 422, b'{"error":"`inputs` is empty","error_type":"validation"}',
         Outcome.CLIENT_FAULT),
        (EngineKind.TGI, 424, b'{"error":"Request failed","error_type":"generation"}',
         Outcome.BROKEN),
        (EngineKind.TGI, 500, b'{"error":"x","error_type":"incomplete_generation"}',
         Outcome.BROKEN),
        (EngineKind.OLLAMA, 503, b'{"error":{"message":"server busy, please try again."}}',
         Outcome.BUSY),
        (EngineKind.OLLAMA, 404, b'{"error":"model \'x\' not found"}', Outcome.CLIENT_FAULT),
        (EngineKind.OLLAMA, 499, b"", Outcome.CANCELLED),
        (EngineKind.TRITON, 503, b'{"error":"Exceeds maximum queue size"}', Outcome.BUSY),
    ],
)  # fmt: skip
def test_results_of_doubles(kind: EngineKind, status: int, body: bytes, outcome: Outcome) -> None:
    assert classify(kind, status, body) is outcome
