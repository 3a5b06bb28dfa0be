"""Which engine runs on which chip, with which precisions: what a search need not try."""

from proa.domain.gpu import GpuSpec
from proa.domain.llm import LlmSpec, WeightFormat
from proa.planner.memory.kv_cache import KvDtype

_VENDORS = {
    "vllm": frozenset({"nvidia", "amd", "intel"}),
    "sglang": frozenset({"nvidia", "amd"}),
    "tensorrt-llm": frozenset({"nvidia"}),
    "tgi": frozenset({"nvidia", "amd", "intel"}),
    "llamacpp": frozenset({"nvidia", "amd", "intel", "apple"}),
}
_GGUF = frozenset({WeightFormat.BF16, WeightFormat.INT8, WeightFormat.INT4, WeightFormat.MXFP4})
_HARDWARE = {KvDtype.FP8: "fp8", KvDtype.FP8_DS_MLA: "fp8", KvDtype.NVFP4: "fp4"}


def runs_on(engine: str, gpu: GpuSpec) -> bool:
    """Whether the engine has kernels for this maker's chips."""
    return gpu.vendor.lower() in _VENDORS.get(engine, frozenset())


def runs_weights(engine: str, gpu: GpuSpec, llm: LlmSpec) -> bool:
    """Whether the engine loads these weights on this chip.

    fp8 and int8 weights run everywhere (unpacked where the chip has no such arithmetic), 4-bit
    floats only where there is `fp4`, or as mxfp4 on any NVIDIA; llama.cpp has GGUF types.
    """
    form = llm.quantization.format if llm.quantization else WeightFormat.BF16
    if engine == "llamacpp":
        return form in _GGUF
    return form is not WeightFormat.NVFP4 or "fp4" in gpu.flops


def runs_cache(engine: str, gpu: GpuSpec, kv_dtype: KvDtype) -> bool:
    """Whether attention kernels read such a cache on this chip; llama.cpp keeps 16 or 8 bits."""
    if engine == "llamacpp":
        return kv_dtype in (KvDtype.AUTO, KvDtype.BF16, KvDtype.INT8)
    needed = _HARDWARE.get(kv_dtype)
    return needed is None or needed in gpu.flops
