"""Every question of `proa fit`: one row each, for flags and batch lines."""

from proa.cli.plan.fields import ENGINES, Field, Kind

DTYPES = ("auto", "bfloat16", "float16", "float32")
_TOKENS = 100 * 2**20

FIELDS: tuple[Field, ...] = (
    Field("model", "model", Kind.TEXT, "catalogue id, or the path of a config.json"),
    Field("dtype", "model", Kind.TEXT, "type of weights that nothing quantises", choices=DTYPES),
    Field("quantization", "model", Kind.TEXT, "the engine's word, a GGUF type, or none"),
    Field("kv_dtype", "model", Kind.TEXT, "type of the KV cache: auto, bf16, fp8, nvfp4 …"),
    Field("gpu", "GPUs", Kind.TEXT, "catalogue id, as h100-80gb"),
    Field("gpus", "GPUs", Kind.COUNT, "this many; default: tp x pp", 1, 4096),
    Field("tp", "GPUs", Kind.COUNT, "tensor parallel; default: all GPUs", 1, 1024),
    Field("pp", "GPUs", Kind.COUNT, "pipeline parallel", 1, 1024),
    Field("expert_parallel", "GPUs", Kind.SWITCH, "whole experts on each GPU"),
    Field("taken", "GPUs", Kind.TEXT, "memory of each GPU that others hold, as 2GiB"),
    Field("headroom", "GPUs", Kind.TEXT, "memory of each GPU to keep free, as 1GiB"),
    Field("engine", "engine", Kind.TEXT, "inference engine", choices=ENGINES),
    Field("engine_version", "engine", Kind.TEXT, "its version, as 0.19.0"),
    Field("gpu_memory_utilization", "engine", Kind.SHARE, "share that it may take", 0.01, 1.0),
    Field("mem_fraction_static", "engine", Kind.SHARE, "SGLang's share", 0.01, 0.999),
    Field("max_model_len", "engine", Kind.TOKENS, "longest context, as 32K", 1, _TOKENS),
    Field("max_num_batched_tokens", "engine", Kind.TOKENS, "tokens of one step", 1, _TOKENS),
    Field("max_num_seqs", "engine", Kind.COUNT, "sequences at once", 1, 1_000_000),
    Field("block_size", "engine", Kind.COUNT, "tokens of a cache block", 1, 65_536),
    Field("kv_cache_memory", "engine", Kind.TEXT, "the KV cache itself, as 20GiB"),
    Field("enforce_eager", "engine", Kind.SWITCH, "no CUDA graphs"),
    Field("catalogue", "files", Kind.FILES, "TOML with GPUs and models of one's own (repeatable)"),
    Field("calibrate", "files", Kind.FILES, "start-up log of this machine (repeatable)"),
)

SIZES = ("taken", "headroom", "kv_cache_memory")
"""Those of them that are bytes with a unit."""

BY_NAME = {field.name: field for field in FIELDS}
"""Also the keys of a batch line."""
