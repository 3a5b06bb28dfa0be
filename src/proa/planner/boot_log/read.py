"""Whose log is it? The entry of this room."""

from proa.errors import InputError
from proa.planner.boot_log import llamacpp, sglang, vllm, vllm_lines
from proa.planner.boot_log.facts import BootLog
from proa.planner.boot_log.scan import plain, relevant

_ENGINES = (
    (vllm_lines.MARK, vllm_lines.LOOKED_FOR, vllm.read_vllm),
    (sglang.MARK, sglang.LOOKED_FOR, sglang.read_sglang),
    (llamacpp.MARK, llamacpp.LOOKED_FOR, llamacpp.read_llamacpp),
)


def read_boot_log(text: str, *, name: str) -> BootLog:
    """What the start that `text` tells of took; `name` is the file's, for errors.

    Raises:
        InputError: no line of a known engine, or the start did not get to its KV cache.
    """
    text = relevant(plain(text))
    counts = [sum(1 for _ in mark.finditer(text)) for mark, _, _ in _ENGINES]
    if not any(counts):
        looked_for = "; ".join(wanted for _, wanted, _ in _ENGINES)
        raise InputError(f"{name}: no start-up log of an engine; looked for {looked_for}")
    _, wanted, read = _ENGINES[counts.index(max(counts))]
    boot = read(text)
    if boot.kv_cache_bytes is None and boot.kv_cache_tokens is None:
        raise InputError(
            f"{name}: a log of {boot.engine} without the size of its KV cache: it is cut off, or"
            f" the engine did not get there; looked for {wanted}"
        )
    return boot
