"""Where the rules for vLLM rest on little: reasons to measure before trusting a number."""

from proa.domain.llm import ExpertFeed, LatentAttention, LinearAttention, WeightFormat
from proa.planner.fit_spec import FitSpec
from proa.planner.profiles import nearest, parse_version
from proa.planner.vllm_cache import cache_dtype
from proa.planner.vllm_versions import MEASURED_MINORS, OLDEST_PINNED, VLLM_VERSIONS, VllmVersion

_MEASURED_FAMILIES = frozenset({"hopper", "ada", "ampere", "blackwell", "cdna3"})


def doubts(spec: FitSpec, version: VllmVersion) -> tuple[str, ...]:
    """Every reason; none for what start-up logs cover."""
    return (*_version_doubts(spec), *_model_doubts(spec, version), *_start_doubts(spec))


def version_warnings(spec: FitSpec, version: VllmVersion) -> tuple[str, ...]:
    """What a reader of the engine's own log should know."""
    found = []
    key, _, own = nearest(VLLM_VERSIONS, spec.engine_version)
    if spec.engine_version and not own:
        nearest_key = ".".join(map(str, key))
        found.append(f"vLLM {spec.engine_version} has no profile: {nearest_key} stands in")
    if not version.counts_graphs and not spec.enforce_eager:
        found.append("CUDA graphs come on top of the engine's share in this version")
    return tuple(found)


def _version_doubts(spec: FitSpec) -> list[str]:
    version = parse_version(spec.engine_version) if spec.engine_version else None
    if version is None:
        return ["no vLLM version was given: the newest profile is taken"]
    if version < OLDEST_PINNED:
        return [f"vLLM {spec.engine_version} is older than the pinned versions"]
    if version[0] or version[1] not in MEASURED_MINORS:
        return [f"no start-up log of vLLM {spec.engine_version} was read; neighbours' rules"]
    return []


def _model_doubts(spec: FitSpec, version: VllmVersion) -> list[str]:
    found = list(spec.llm.notes)
    attentions = [group.attention for group in spec.llm.layers]
    latent = [a for a in attentions if isinstance(a, LatentAttention)]
    if any(a.direct for a in latent):
        found.append("compressed caches (DeepSeek-V4) are counted by vLLM in a way of their own")
    if version.counts_graphs and any(a.index_head_dim for a in latent):
        found.append("no start-up log of sparse MLA with counted graphs was read")
    if cache_dtype(spec, version) is not spec.kv_dtype:
        found.append("the checkpoint wants its cache in fp8, and `auto` follows; name the type")
    experts = any(isinstance(group.feed, ExpertFeed) for group in spec.llm.layers)
    if spec.gpu.vendor == "amd" and experts and spec.llm.quantization is None:
        found.append("experts in bf16 on ROCm may be kept twice (seen: 33 GiB more)")
    quantization = spec.llm.quantization
    if quantization is not None and quantization.format in (WeightFormat.NVFP4, WeightFormat.MXFP4):
        found.append("4-bit floating point kernels pad weights in ways that differ by GPU")
    if version.tokens_by_concurrency and any(isinstance(a, LinearAttention) for a in attentions):
        found.append("states of linear layers take blocks by caching mode in this version")
    return found


def _start_doubts(spec: FitSpec) -> list[str]:
    found = []
    if spec.gpu.family not in _MEASURED_FAMILIES:
        found.append(f"no start-up log of vLLM on {spec.gpu.name} was read")
    if spec.layout.pipeline_parallel > 1 or spec.layout.data_parallel > 1:
        found.append("few start-up logs with pipeline or data parallelism were read")
    if spec.draft_tokens:
        found.append("speculation loads and captures more than the target model")
    return found
