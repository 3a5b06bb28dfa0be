"""Where the rules for vLLM rest on little: reasons to measure before trusting a number."""

from proa.domain.llm import ExpertFeed, LatentAttention, LinearAttention, WeightFormat
from proa.planner.fit.profiles import nearest, parse_version
from proa.planner.fit.spec import FitSpec
from proa.planner.fit.vllm_cache import cache_dtype
from proa.planner.fit.vllm_versions import (
    MEASURED_MINORS,
    OLDEST_PINNED,
    VLLM_VERSIONS,
    VllmVersion,
)
from proa.planner.text import Text

_MEASURED_FAMILIES = frozenset({"hopper", "ada", "ampere", "blackwell", "cdna3"})


def doubts(spec: FitSpec, version: VllmVersion) -> tuple[Text, ...]:
    """Every reason; none for what start-up logs cover."""
    return (*_version_doubts(spec), *_model_doubts(spec, version), *_start_doubts(spec))


def version_warnings(spec: FitSpec, version: VllmVersion) -> tuple[Text, ...]:
    """What a reader of the engine's own log should know."""
    found: list[Text] = []
    key, _, own = nearest(VLLM_VERSIONS, spec.engine_version)
    if spec.engine_version and not own:
        nearest_key = ".".join(map(str, key))
        found.append(_STANDS_IN.fill(version=spec.engine_version, nearest=nearest_key))
    if not version.counts_graphs and not spec.enforce_eager:
        found.append(_GRAPHS_ON_TOP)
    return tuple(found)


def _version_doubts(spec: FitSpec) -> list[Text]:
    version = parse_version(spec.engine_version) if spec.engine_version else None
    if version is None:
        return [_NO_VERSION]
    if version < OLDEST_PINNED:
        return [_OLDER.fill(version=spec.engine_version)]
    if version[0] or version[1] not in MEASURED_MINORS:
        return [_UNREAD.fill(version=spec.engine_version)]
    return []


def _model_doubts(spec: FitSpec, version: VllmVersion) -> list[Text]:
    found = list(spec.llm.notes)
    attentions = [group.attention for group in spec.llm.layers]
    latent = [a for a in attentions if isinstance(a, LatentAttention)]
    if any(a.direct for a in latent):
        found.append(_COMPRESSED)
    if version.counts_graphs and any(a.index_head_dim for a in latent):
        found.append(_SPARSE)
    if cache_dtype(spec, version) is not spec.kv_dtype:
        found.append(_CACHE_FOLLOWS)
    experts = any(isinstance(group.feed, ExpertFeed) for group in spec.llm.layers)
    if spec.gpu.vendor == "amd" and experts and spec.llm.quantization is None:
        found.append(_ROCM_EXPERTS)
    quantization = spec.llm.quantization
    if quantization is not None and quantization.format in (WeightFormat.NVFP4, WeightFormat.MXFP4):
        found.append(_PADDED)
    if version.tokens_by_concurrency and any(isinstance(a, LinearAttention) for a in attentions):
        found.append(_STATES)
    return found


def _start_doubts(spec: FitSpec) -> list[Text]:
    found: list[Text] = []
    if spec.gpu.family not in _MEASURED_FAMILIES:
        found.append(_GPU_UNREAD.fill(gpu=spec.gpu.name))
    if spec.layout.pipeline_parallel > 1 or spec.layout.data_parallel > 1:
        found.append(_FEW_STAGES)
    if spec.draft_tokens:
        found.append(_SPECULATION)
    return found


_STANDS_IN = Text(
    "vLLM {version}의 프로파일이 없어 {nearest}의 것으로 대신합니다",
    "vLLM {version} has no profile: {nearest} stands in",
)
_GRAPHS_ON_TOP = Text(
    "이 버전은 CUDA 그래프를 엔진 몫 밖에서 더 씁니다",
    "CUDA graphs come on top of the engine's share in this version",
)
_NO_VERSION = Text(
    "vLLM 버전을 주지 않아 최신 프로파일을 썼습니다",
    "no vLLM version was given: the newest profile is taken",
)
_OLDER = Text(
    "vLLM {version}은(는) 프로파일이 있는 버전보다 오래되었습니다",
    "vLLM {version} is older than the pinned versions",
)
_UNREAD = Text(
    "vLLM {version}의 기동 로그를 확인하지 못해 앞뒤 버전의 규칙을 따랐습니다",
    "no start-up log of vLLM {version} was read; neighbours' rules",
)
_COMPRESSED = Text(
    "압축 캐시(DeepSeek-V4)는 vLLM이 다른 방식으로 셉니다",
    "compressed caches (DeepSeek-V4) are counted by vLLM in a way of their own",
)
_SPARSE = Text(
    "희소 MLA에서 그래프를 셈에 넣는 버전의 기동 로그를 확인하지 못했습니다",
    "no start-up log of sparse MLA with counted graphs was read",
)
_CACHE_FOLLOWS = Text(
    "체크포인트가 fp8 캐시를 요구하고 `auto`는 이를 따르므로 자료형을 지정하십시오",
    "the checkpoint wants its cache in fp8, and `auto` follows; name the type",
)
_ROCM_EXPERTS = Text(
    "ROCm에서는 bf16 전문가 가중치가 두 벌 올라갈 수 있습니다(33 GiB 더 쓴 사례)",
    "experts in bf16 on ROCm may be kept twice (seen: 33 GiB more)",
)
_PADDED = Text(
    "4비트 부동소수점 커널이 가중치를 채우는 방식은 GPU마다 다릅니다",
    "4-bit floating point kernels pad weights in ways that differ by GPU",
)
_STATES = Text(
    "이 버전은 선형 레이어의 상태를 캐싱 방식에 따라 블록에 담습니다",
    "states of linear layers take blocks by caching mode in this version",
)
_GPU_UNREAD = Text(
    "{gpu}에서 기동한 vLLM 로그를 확인하지 못했습니다",
    "no start-up log of vLLM on {gpu} was read",
)
_FEW_STAGES = Text(
    "파이프라인·데이터 병렬의 기동 로그는 적습니다",
    "few start-up logs with pipeline or data parallelism were read",
)
_SPECULATION = Text(
    "투기적 디코딩은 대상 모델보다 더 많이 적재하고 캡처합니다",
    "speculation loads and captures more than the target model",
)
