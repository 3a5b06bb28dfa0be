"""Which engine to take, and why: rules that a person can follow, in both languages."""

from collections.abc import Iterator

import msgspec

from proa.domain.gpu import GpuSpec
from proa.errors import FieldError
from proa.planner.text import Text

_FEW_SESSIONS = 4
_SHARED_PREFIX = 0.5
_SMALL_BYTES = 34 * 10**9
_NVIDIA, _APPLE = "nvidia", "apple"
_SERVER_VENDORS = frozenset({_NVIDIA, "amd", "intel"})

MAKERS_OWN = "maker"
"""The runtime that the chip's maker supports, where none of the usual engines is sure to run."""


class EngineNeedSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine is chosen by.

    `shared_prefix_share` is the share of input tokens that requests have in common (a long
    system prompt, the same documents). `gpu` None is a server without one. `other_frameworks`:
    models of vision, speech or tabular data that the same server must answer for.
    """

    sessions: int
    gpu: GpuSpec | None
    gpus: int = 1
    shared_prefix_share: float = 0.0
    structured_output: bool = False
    other_frameworks: bool = False
    hugging_face_api: bool = False


class EngineReason(msgspec.Struct, frozen=True, kw_only=True):
    """One engine that suits, and what speaks for it or is to be known of it."""

    engine: str
    text: Text


class EngineAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """The engine to take, then others that suit for a reason of their own."""

    engine: str
    reasons: tuple[EngineReason, ...]
    alternatives: tuple[EngineReason, ...]


def advise_engine(need: EngineNeedSpec) -> EngineAdvice:
    """The first engine of which a rule says that it suits; the other rules give alternatives.

    Order: what only one engine can do (no GPU, other frameworks, another maker's chip), then
    what one does best (structured output, shared prefixes, few sessions), then vLLM.
    TGI is never the first: its makers keep it in maintenance.

    Raises:
        FieldError: no session, or a share outside 0 to 1.
    """
    if need.sessions < 1:
        raise FieldError("sessions", need.sessions, "a whole number from 1")
    if not 0 <= need.shared_prefix_share <= 1:
        raise FieldError("shared_prefix_share", need.shared_prefix_share, "a share from 0 to 1")
    found = [*_rules(need)]
    chosen = found[0].engine
    return EngineAdvice(
        engine=chosen,
        reasons=tuple(reason for reason in found if reason.engine == chosen),
        alternatives=tuple(reason for reason in found if reason.engine != chosen),
    )


def _rules(need: EngineNeedSpec) -> Iterator[EngineReason]:
    vendor = need.gpu.vendor.lower() if need.gpu else ""
    if need.gpu is None:
        yield _reason("llamacpp", _CPU)
        return
    if vendor not in _SERVER_VENDORS:
        engine = "llamacpp" if vendor == _APPLE else MAKERS_OWN
        yield _reason(engine, _UNIFIED if vendor == _APPLE else _OWN, maker=need.gpu.vendor)
        return
    if need.other_frameworks and vendor == _NVIDIA:
        yield _reason("tensorrt-llm", _MIXED)
    if need.structured_output:
        yield _reason("sglang", _STRUCTURED)
    if need.shared_prefix_share >= _SHARED_PREFIX:
        yield _reason("sglang", _PREFIX, share=f"{need.shared_prefix_share * 100:.0f}")
    if _is_small(need, need.gpu):
        yield _reason("llamacpp", _SMALL, sessions=need.sessions)
    yield _reason("vllm", _THROUGHPUT)
    if need.hugging_face_api:
        yield _reason("tgi", _HUGGING_FACE)


def _is_small(need: EngineNeedSpec, gpu: GpuSpec) -> bool:
    few = need.sessions <= _FEW_SESSIONS and need.gpus == 1
    return few and gpu.memory_bytes <= _SMALL_BYTES


def _reason(engine: str, text: Text, **values: object) -> EngineReason:
    return EngineReason(engine=engine, text=text.fill(**values) if values else text)


_CPU = Text(
    "GPU가 없는 서버이므로 llama.cpp를 권합니다. CPU에서 GGUF 양자화 모델을 그대로 실행합니다.",
    "There is no GPU: llama.cpp runs quantised GGUF models on the processor.",
)
_OWN = Text(
    "{maker} 장치는 제조사가 지원하는 런타임을 써야 합니다. "
    "vLLM과 SGLang의 지원 여부를 먼저 확인하십시오.",
    "Chips of {maker} run on the runtime that their maker supports; check first whether vLLM or "
    "SGLang is among them.",
)
_UNIFIED = Text(
    "{maker} 통합 메모리 장비에서는 Metal을 지원하는 llama.cpp를 권합니다.",
    "On unified memory of {maker} take llama.cpp, which runs on Metal.",
)
_MIXED = Text(
    "비전·음성 등 다른 프레임워크의 모델과 한 서버에서 서비스해야 하므로 "
    "Triton과 TensorRT-LLM 조합을 권합니다. 대신 모델마다 엔진을 빌드하고 관리하는 수고가 듭니다.",
    "Models of other frameworks are served beside the language model: Triton with TensorRT-LLM "
    "answers for all of them. Building and keeping an engine per model is the price.",
)
_STRUCTURED = Text(
    "JSON 스키마 등 구조화된 출력을 쓰므로 SGLang을 권합니다. 문법 제약 디코딩이 빠릅니다.",
    "Answers have a structure (JSON schema): SGLang decodes under a grammar at little cost.",
)
_PREFIX = Text(
    "입력의 {share} %가 요청 사이에 공유되므로 SGLang을 권합니다. "
    "공유 접두어의 KV 캐시를 RadixAttention으로 재사용합니다.",
    "{share} % of the input is shared between requests: SGLang keeps the KV cache of shared "
    "prefixes in a radix tree (RadixAttention).",
)
_SMALL = Text(
    "동시 세션이 {sessions}개뿐인 GPU 1장 서버라면 llama.cpp로 충분합니다. "
    "시작이 빠르고 GGUF 양자화로 메모리를 적게 쓰지만, "
    "세션이 늘면 처리량이 vLLM에 크게 못 미칩니다.",
    "For {sessions} sessions on one GPU llama.cpp is enough: it starts quickly and takes little "
    "memory with GGUF. With more sessions its throughput falls far behind vLLM's.",
)
_THROUGHPUT = Text(
    "동시 요청이 많은 API 서비스에는 vLLM이 무난합니다. "
    "연속 배칭과 PagedAttention으로 처리량이 높고, 지원하는 모델과 GPU의 폭이 가장 넓습니다.",
    "For an API with many requests at once vLLM is the sound choice: high throughput by continuous "
    "batching and PagedAttention, and the widest support of models and GPUs.",
)
_HUGGING_FACE = Text(
    "Hugging Face TGI API와 호환되어야 한다면 TGI를 쓸 수 있으나, "
    "유지 보수 단계에 있어 새 모델 지원과 성능 개선은 기대하기 어렵습니다.",
    "Where Hugging Face's TGI API is needed TGI will do, but it is in maintenance: expect neither "
    "new models nor more speed.",
)
