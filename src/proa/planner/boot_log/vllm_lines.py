"""The wordings of vLLM's start-up lines, from 0.5 (V0) to 0.33 (V1).

"GB" of "Loading model weights took 15.5 GB" is GiB too (`model_memory_usage / float(2**30)`).

Source:
    vLLM, worker/worker.py (V0); v1/worker/gpu_worker.py, v1/core/kv_cache_utils.py,
    utils/mem_utils.py (V1).
"""

import re

LOOKED_FOR = "vLLM: 'KV cache size: N tokens', '# GPU blocks: N', 'Available KV cache memory'"

MARK = re.compile(
    r"vLLM API server version|Initializing an? (?:V1 )?LLM engine|GPU KV cache size:"
    r"|Available KV cache memory:|# (?:GPU|cuda) blocks:|reserved for KV Cache is"
    r"|Current kv cache memory in use"
)
OPENING = re.compile(r"vLLM API server version |[█▀] +version \d")
ESSENTIAL = re.compile(r"KV cache size: [\d,]+ tokens|# (?:GPU|cuda) blocks: \d")

VERSIONS = (
    re.compile(r"vLLM API server version:? v?([0-9][\w.+]*)"),
    re.compile(r"LLM engine \(v([0-9][\w.+]*)\)"),
    re.compile(r"[█▀] +version v?([0-9][\w.+]*)"),
)
ARCHITECTURE = (re.compile(r"Resolved architecture: (\w+)"),)
MODEL = (re.compile(r"config: model='([^']+)'"),)
CACHE_GIVEN = re.compile(r"as specified by kv_cache_memory_bytes|Explicitly set \(\S+\) GiB for KV")
GRAPHS_COUNTED = re.compile(
    r"CUDA graph memory profiling is (enabled|disabled)"
    r"|The current --gpu-memory-utilization=\S+ is (equivalent)"
)

# A line each; "<name>" stands for a number of GiB, a space for any white space (logs are wrapped
# when they are pasted), "~" for white space that some versions leave out.
_PER_RANK = r"""
(?:Loading model weights|Model loading) took <weights>~G
model weights take <weights>~GiB; non_torch_memory takes <non_torch>~GiB
PyTorch activation peak memory takes <activation>~GiB
the rest of the memory reserved for KV Cache is <kv>~GiB
use total_gpu_memory \(<total>~GiB\) x gpu_memory_utilization \(<share>\) = <budget>~GiB
Memory profiling results: total_gpu_memory=<total>GiB
peak_torch_memory=<peak_torch>GiB
non_torch_memory=<non_torch>GiB kv_cache_size=<kv>GiB gpu_memory_utilization=<share>
torch peak memory increase: <activation>~GiB
non-torch forward increase memory: <non_torch>~GiB
total consumed \(from mem_get_info\): <consumed>~GiB
weights memory: <weights>~GiB
Available KV cache memory: <kv>~GiB
reserved <kv>~GiB memory for KV Cache as specified
Explicitly set \(<kv>/<total>\) GiB for KV cache
Estimated CUDA graph memory: <graph_estimated>~GiB
Graph capturing finished in \S+ secs?, took <graph>~GiB
CUDA graph pool memory: <graph>~GiB \(actual\), <graph_estimated>~GiB
Free memory on device \(<free>/<total>~GiB\) on startup
Desired GPU memory utilization is \(<share>, <budget>~GiB\)
Actual usage is <weights>~GiB for weight,
<non_torch>~GiB for non-torch memory,
Actual usage is <consumed>~GiB for consumed memory
<peak>~GiB for peak activation
Current kv cache memory in use is <kv>~GiB
snapshot:[^\n]*free_memory=<free>GiB, total_memory=<total>GiB
worker requested memory: <budget>GiB
Initial free memory: <free>~GiB; Requested memory: <share> \(util\), <budget>~GiB
"""
_OF_ENGINE = r"""
KV cache size: <tokens> tokens
Maximum concurrency for <length> tokens per request: <concurrency>x
# (?:GPU|cuda) blocks: <blocks>
num_gpu_blocks is: <blocks>
Setting attention block size to <block> tokens
"""


def _compiled(wordings: str) -> tuple[re.Pattern[str], ...]:
    patterns = []
    for wording in wordings.strip().split("\n"):
        spaced = wording.replace(" ", r"\s+").replace("~", r"\s*")
        patterns.append(re.compile(re.sub(r"<(\w+)>", r"(?P<\1>-?\\d[\\d.,]*)", spaced)))
    return tuple(patterns)


PER_RANK = _compiled(_PER_RANK)
"""Said by each worker: weights, activation, budget, KV cache."""

OF_ENGINE = _compiled(_OF_ENGINE)
"""Said once: tokens, blocks, concurrency."""
