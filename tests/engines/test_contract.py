"""One suite for all adapters: what each reads out of an engine's own bytes.

vLLM, SGLang, llama.cpp and Triton as recorded (tests/engines/data); TGI, Ollama,
trtllm-serve and the TensorRT-LLM backend as doubles written after their protocol.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines import doubles
from tests.engines.recorded import recorded

from proa.domain.fleet import EngineKind
from proa.domain.load import EngineLoad
from proa.engines.adapters import ADAPTERS
from proa.engines.models import openai_models, with_contexts
from proa.engines.sources import EngineFacts, LoadSource, Reply, merged_facts, merged_load

SOURCES = [
    pytest.param(source, id=f"{kind}{source.probe.path}")
    for kind, adapter in ADAPTERS.items()
    for group in adapter.load_groups
    for source in group
]
FACT_SOURCES = [
    pytest.param(source, id=f"{kind}{source.probe.path}")
    for kind, adapter in ADAPTERS.items()
    for source in adapter.fact_sources
]


def source(kind: EngineKind, path: str) -> LoadSource:
    groups = ADAPTERS[kind].load_groups
    return next(s for group in groups for s in group if s.probe.path.partition("?")[0] == path)


def said(kind: EngineKind, path: str, reply: Reply) -> dict[str, object]:
    """What is known of a load, without its time."""
    load = source(kind, path).read(reply.body, 7.0)
    assert load is not None
    assert load.at_s == 7.0
    known = {k: v for k, v in msgspec.structs.asdict(load).items() if v is not None}
    del known["at_s"]
    return known


LOADS = [
    (
        EngineKind.VLLM, "/metrics", recorded("vllm/metrics_under_load"),
        {"running": 8, "waiting": 6, "kv_tokens": 1_048_576, "preemptions_total": 0.0,
         "is_sleeping": False},
    ),
    (
        EngineKind.VLLM, "/metrics", recorded("vllm/metrics_dp2"),
        {"running": 0, "waiting": 0, "kv_use": 0.0, "kv_tokens": 2_097_152,
         "prefix_queries_total": 336.0, "prefix_hits_total": 0.0, "prompt_tokens_total": 336.0,
         "generation_tokens_total": 480.0, "is_sleeping": False},
    ),
    (
        EngineKind.VLLM, "/metrics", recorded("vllm/metrics_preempted"),
        {"preemptions_total": 35.0, "kv_tokens": 1664},
    ),
    (
        EngineKind.VLLM, "/metrics", recorded("vllm/metrics_lora"),
        {"adapters_running": ("ad1",), "adapters_max": 2},
    ),
    (EngineKind.VLLM, "/metrics", recorded("vllm/metrics_minilm_pooling"), {"running": 0}),
    (
        EngineKind.VLLM, "/metrics", doubles.OLD_VLLM_METRICS,
        {"running": 5, "waiting": 1, "kv_use": 0.75, "kv_tokens": 32_000,
         "prefix_queries_total": 100.0, "prefix_hits_total": 40.0},
    ),
    (EngineKind.VLLM, "/metrics", doubles.SLEEPING_VLLM_METRICS, {"is_sleeping": True}),
    (
        EngineKind.SGLANG, "/v1/loads", recorded("sglang/v1_loads_under_load"),
        {"running": 4, "waiting": 6, "kv_use": 0.0557, "kv_tokens": 8192, "max_running": 4,
         "prefix_hit_rate": 0.5714},
    ),
    (
        EngineKind.SGLANG, "/v1/loads", recorded("sglang/v1_loads"),
        {"running": 0, "waiting": 0, "kv_use": 0.0, "max_running": 4},
    ),
    (
        EngineKind.SGLANG, "/v1/loads", doubles.SGLANG_TWO_RANKS,
        {"running": 5, "waiting": 3, "kv_use": 0.9, "kv_tokens": 2000, "max_running": 32},
    ),
    (EngineKind.SGLANG, "/get_load", doubles.SGLANG_GET_LOAD, {"running": 6, "waiting": 2}),
    (EngineKind.SGLANG, "/get_server_info", doubles.SGLANG_OLD_INFO, {"running": 4}),
    (
        EngineKind.SGLANG, "/metrics", recorded("sglang/metrics_under_load"),
        {"running": 4, "waiting": 6, "kv_use": 0.04, "kv_tokens": 8192,
         "prompt_tokens_total": 932.0, "generation_tokens_total": 598.0,
         "prefix_queries_total": 932.0, "prefix_hits_total": 554.0,
         "prefix_hit_rate": 0.5714285714285714},
    ),
    (
        EngineKind.SGLANG, "/metrics", doubles.SGLANG_UNDERSCORES,
        {"running": 3, "waiting": 1, "kv_use": 0.5},
    ),
    (
        EngineKind.LLAMACPP, "/metrics", recorded("llamacpp/metrics_after_load"),
        {"running": 0, "waiting": 0, "prompt_tokens_total": 217.0, "prefix_queries_total": 715.0,
         "prefix_hits_total": 498.0, "generation_tokens_total": 601.0},
    ),
    (
        EngineKind.LLAMACPP, "/slots", recorded("llamacpp/slots_busy"),
        {"running": 4, "kv_tokens": 8192, "max_running": 4},
    ),
    (
        EngineKind.LLAMACPP, "/slots", recorded("llamacpp/slots_idle"),
        {"running": 0, "kv_tokens": 8192, "max_running": 4},
    ),
    (EngineKind.TRITON, "/metrics", recorded("triton/metrics"), {"waiting": 0}),
    (
        EngineKind.TRITON, "/metrics", doubles.TRITON_TRTLLM_METRICS,
        {"running": 7, "waiting": 2, "kv_use": 0.25, "kv_tokens": 64_000},
    ),
    (
        EngineKind.TGI, "/metrics", doubles.TGI_METRICS,
        {"running": 12, "waiting": 4, "prompt_tokens_total": 2048.0,
         "generation_tokens_total": 512.0},
    ),
    (
        EngineKind.OPENAI, "/metrics", doubles.TRTLLM_SERVE_METRICS,
        {"running": 3, "waiting": 1, "kv_use": 0.6, "kv_tokens": 32_000, "prefix_hit_rate": 0.3},
    ),
    (
        EngineKind.OPENAI, "/prometheus/metrics", doubles.TRTLLM_COLONS,
        {"running": 2, "waiting": 0},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "reply", "expected"), LOADS)
def test_the_load_as_the_engine_tells_it(
    kind: EngineKind, path: str, reply: Reply, expected: dict[str, object]
) -> None:
    known = said(kind, path, reply)
    assert {key: known.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("kind", "path", "reply", "unknown"),
    [
        (EngineKind.TRITON, "/metrics", recorded("triton/metrics"), ("running", "kv_use")),
        (EngineKind.TGI, "/metrics", doubles.TGI_METRICS, ("kv_use", "kv_tokens")),
        (EngineKind.LLAMACPP, "/metrics", recorded("llamacpp/metrics_after_load"), ("kv_use",)),
        (EngineKind.LLAMACPP, "/slots", recorded("llamacpp/slots_busy"), ("waiting",)),
        (EngineKind.SGLANG, "/get_load", doubles.SGLANG_GET_LOAD, ("kv_use", "kv_tokens")),
        (EngineKind.VLLM, "/metrics", doubles.OLD_VLLM_METRICS, ("is_sleeping", "adapters_max")),
    ],
)
def test_what_an_engine_does_not_say_is_unknown_and_never_zero(
    kind: EngineKind, path: str, reply: Reply, unknown: tuple[str, ...]
) -> None:
    assert set(unknown) & said(kind, path, reply).keys() == set()


@pytest.mark.parametrize("asked", SOURCES)
@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b"null", b"<html>", b'{"detail":"Not Found"}', b"[" * 100_000,
     b"some_other_metric 3\n", b'{"loads":[]}', b'{"loads":null}', b"\xff\xfe"],
    ids=lambda body: repr(body[:12]),
)  # fmt: skip
def test_nothing_known_in_a_body_is_no_load(asked: LoadSource, body: bytes) -> None:
    assert asked.read(body, 0.0) is None


@pytest.mark.parametrize("asked", SOURCES)
@given(st.binary(max_size=100))
def test_no_bytes_break_a_reader(asked: LoadSource, body: bytes) -> None:
    asked.read(body, 0.0)


@pytest.mark.parametrize("asked", FACT_SOURCES)
@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"<html>", b"[" * 100_000, b'{"models":3}'])
def test_strange_facts_are_none(asked: object, body: bytes) -> None:
    facts = asked.read(body)  # type: ignore[attr-defined]
    assert facts is None or facts in (EngineFacts(), EngineFacts(adapters=()))


@pytest.mark.parametrize("kind", list(EngineKind))
def test_probes_only_look(kind: EngineKind) -> None:
    """Rule 7: nothing is generated, loaded or woken; SGLang's `/health` costs a token."""
    adapter = ADAPTERS[kind]
    probes = [s.probe for group in adapter.load_groups for s in group]
    probes += [s.probe for s in adapter.fact_sources]
    assert {probe.method for probe in probes} <= {"GET"}
    assert not [p for p in probes if p.path.startswith(("/health", "/wake", "/api/generate"))]


def test_facts() -> None:
    def facts(kind: EngineKind, path: str, reply: Reply) -> EngineFacts:
        (asked,) = [s for s in ADAPTERS[kind].fact_sources if s.probe.path == path]
        found = asked.read(reply.body)
        assert found is not None
        return found

    assert facts(EngineKind.VLLM, "/version", recorded("vllm/version")).version == "0.32.0"
    assert facts(EngineKind.TRITON, "/v2", recorded("triton/v2")).version == "2.51.0"
    sglang = facts(EngineKind.SGLANG, "/server_info", recorded("sglang/server_info"))
    assert (sglang.version, sglang.max_running, sglang.context_tokens) == ("0.5.23", 4, None)
    assert sglang.flags["kv_cache_dtype"] == "auto"
    assert "quantization" not in sglang.flags
    llamacpp = facts(EngineKind.LLAMACPP, "/props", recorded("llamacpp/props"))
    assert (llamacpp.context_tokens, llamacpp.max_running, llamacpp.kv_tokens) == (2048, 4, 8192)
    assert llamacpp.is_sleeping is False
    lora = facts(EngineKind.LLAMACPP, "/lora-adapters", recorded("llamacpp/lora_list"))
    assert lora.adapters is not None
    assert [adapter.name for adapter in lora.adapters] == ["0"]
    tgi = facts(EngineKind.TGI, "/info", doubles.TGI_INFO)
    no_limit = Reply(200, doubles.TGI_INFO.body.replace(b":128,", b":2147483647,"))
    assert facts(EngineKind.TGI, "/info", no_limit).max_running is None
    assert (tgi.version, tgi.max_running, tgi.context_tokens) == ("3.3.6-dev0", 128, 4096)
    ollama = facts(EngineKind.OLLAMA, "/api/ps", doubles.OLLAMA_PS)
    assert ollama.contexts == {"qwen3:8b": 4096, "smol:latest": 2048, "smol": 2048}
    assert facts(EngineKind.OLLAMA, "/api/version", doubles.OLLAMA_VERSION).version == "0.33.0"


@pytest.mark.parametrize(
    ("name", "contexts", "parents"),
    [
        ("vllm/lora_v1_models", [1024, 1024], [None, "tiny"]),
        ("sglang/v1_models", [2048], [None]),
        ("llamacpp/v1_models", [2048], [None]),
    ],
)
def test_context_and_parent_of_models(
    name: str, contexts: list[int | None], parents: list[str | None]
) -> None:
    models = with_contexts(openai_models(recorded(name).body) or (), EngineFacts())
    assert [model.context_tokens for model in models] == contexts
    assert [model.parent for model in models] == parents


def test_facts_fill_in_a_context() -> None:
    models = openai_models(b'{"data":[{"id":"a"},{"id":"b","max_model_len":9}]}') or ()
    filled = with_contexts(models, EngineFacts(context_tokens=4, contexts={"b": 7}))
    assert [model.context_tokens for model in filled] == [4, 9]


@pytest.mark.parametrize(
    ("kind", "reply", "count"),
    [
        (EngineKind.VLLM, recorded("vllm/tokenize_prompt"), 5),
        (EngineKind.SGLANG, recorded("sglang/tokenize_plain"), 5),
        (EngineKind.LLAMACPP, recorded("llamacpp/tokenize"), 5),
        (EngineKind.TGI, doubles.TGI_TOKENIZE, 3),
    ],
)
def test_tokens_are_counted_by_the_engine(kind: EngineKind, reply: Reply, count: int) -> None:
    counter = ADAPTERS[kind].token_count
    assert counter is not None
    assert counter.read(reply.body) == count
    assert counter.read(b"<html>") is None
    probe = counter.probe("m", "Hello, world! tokens")
    assert b"Hello, world! tokens" in probe.body
    assert (probe.method, probe.path) == ("POST", "/tokenize")


def test_several_answers_make_one_load() -> None:
    live = EngineLoad(at_s=5.0, running=3, waiting=0)
    page = EngineLoad(at_s=4.0, running=9, kv_use=0.5)
    assert merged_load([live, page]) == EngineLoad(at_s=4.0, running=3, waiting=0, kv_use=0.5)
    assert merged_load([]) is None


def test_several_answers_make_all_facts() -> None:
    facts = merged_facts([EngineFacts(contexts={"a": 1}), EngineFacts(version="2", max_running=3)])
    assert facts == EngineFacts(contexts={"a": 1}, version="2", max_running=3)


def test_what_was_measured_of_clients_that_leave() -> None:
    """SGLang looks for a closed client of a whole answer only every few seconds."""
    habits = {kind: ADAPTERS[kind].cancel_habit for kind in EngineKind}
    assert habits[EngineKind.SGLANG].whole_s == 4.0
    noticed = [habit.stream_s for habit in habits.values() if habit.stream_s is not None]
    assert max(noticed) <= 1.0
    assert habits[EngineKind.TGI].whole_s is None  # not measured
