"""SGLang's start-up lines. Its "GB" are GiB (`/ (1 << 30)`).

KV cache = free after loading - (1 - mem_fraction_static) x free before loading - reservations.

Source:
    sglang 0.5.23, srt/mem_cache/kv_cache_configurator.py, `_profile_available_bytes`.
"""

import re

from proa.planner.boot_log.facts import BootFlags, BootLog, TokenMeaning
from proa.planner.boot_log.flags import real_setting, switch_setting, text_setting, whole_setting
from proa.planner.boot_log.scan import (
    Amounts,
    amounts,
    argument_lines,
    binding_rank,
    gib_bytes,
    last_start,
    pick,
    rank_of,
    whole,
)

LOOKED_FOR = "SGLang: 'KV Cache is allocated. #tokens: N', 'max_total_num_tokens=N'"

MARK = re.compile(r"KV Cache is allocated|Load weight (?:begin|end)\.|max_total_num_tokens=\d")
_OPENING = re.compile(r"server_args=")
_ESSENTIAL = re.compile(r"KV Cache is allocated\.|max_total_num_tokens=\d")

_N = r"([\d.,]+)"
_BEFORE = re.compile(rf"Load weight begin\. avail mem={_N} GB")
_AFTER = re.compile(r"Load weight end\.[^\n]*?avail mem=([\d.]+) GB, mem usage=([\d.]+) GB")
_GRAPH = re.compile(r"[Cc]apture [\w ]*?graph end\.[^\n]*?mem usage=([\d.]+) GB")
_STATE = re.compile(r"Mamba Cache is allocated\.[^\n]*")
_STATE_PART = re.compile(r"size: ([\d.]+) ?GB")
_ARCHITECTURE = re.compile(r"Load weight end\.[^\n]*?type=(\w+)")
_KV_DTYPE = re.compile(
    r"(?:Using KV cache dtype:|KV Cache is allocated\. dtype:) (?:torch\.)?(\w+)"
)
_POOL = r"KV Cache is allocated\.(?: dtype: \S+)? #tokens: (?P<tokens>\d+), "
_LAST = (
    re.compile(_POOL + r"K size: (?P<k>[\d.]+) GB, V size: (?P<v>[\d.]+) GB"),
    re.compile(_POOL + r"KV size: (?P<kv>[\d.]+) GB"),
    re.compile(r"full_layer_tokens=(?P<full>\d+), swa_layer_tokens=(?P<swa>\d+)"),
    re.compile(r"max_total_num_tokens=(?P<total>\d+)"),
    re.compile(r"context_len=(?P<length>\d+)"),
    re.compile(r"max_running_requests=(?P<requests>\d+), context_len"),
)


def read_sglang(text: str) -> BootLog:
    """The facts of the last complete start in `text`, which is free of colours.

    A size that was rounded to 0.00 GB tells nothing and is None.
    """
    text = last_start(text, _OPENING, _ESSENTIAL)
    found = amounts(text, _LAST)
    _add_loads(text, found)
    rank = binding_rank(found, "after")
    flags = _flags(argument_lines(text), found, _word(_KV_DTYPE, text))
    before, after = pick(found, "before", "least", rank), pick(found, "after", "least", rank)
    length = flags.max_model_len
    tokens = whole(pick(found, "total", "least") or pick(found, "tokens", "least"))
    share = flags.gpu_memory_utilization
    budget = None if before is None or share is None else before * share
    return BootLog(
        engine="sglang",
        architecture=_word(_ARCHITECTURE, text),
        flags=flags,
        ranks=sum("after" in facts for facts in found.values()) or 1,
        gpu_free_bytes=gib_bytes(before),
        budget_bytes=gib_bytes(budget),
        weights_bytes=gib_bytes(pick(found, "weights", "most", rank)) or None,
        free_after_load_bytes=gib_bytes(after),
        cuda_graph_bytes=gib_bytes(pick(found, "graph", "most", rank)),
        cuda_graphs_counted=False,
        kv_cache_bytes=gib_bytes(pick(found, "pool", "least", rank)) or None,
        kv_cache_tokens=tokens,
        swa_tokens=whole(pick(found, "swa", "least")),
        state_bytes=gib_bytes(pick(found, "state", "most", rank)),
        max_concurrency=None if tokens is None or not length else tokens / length,
        token_meaning=None if tokens is None else TokenMeaning.CELLS,
    )


def _add_loads(text: str, found: Amounts) -> None:
    """What comes several times per rank: a draft model loads after the target and counts too."""
    for match in _BEFORE.finditer(text):
        _of(found, text, match).setdefault("before", float(match[1].replace(",", "")))
    for match in _AFTER.finditer(text):
        facts = _of(found, text, match)
        facts["after"] = float(match[1])
        facts["weights"] = facts.get("weights", 0.0) + float(match[2])
    for match in _GRAPH.finditer(text):
        facts = _of(found, text, match)
        facts["graph"] = facts.get("graph", 0.0) + float(match[1])
    for match in _STATE.finditer(text):
        parts = [float(part) for part in _STATE_PART.findall(match[0])]
        _of(found, text, match)["state"] = sum(parts)
    for pattern in _LAST[:2]:
        for match in pattern.finditer(text):
            facts = _of(found, text, match)
            sizes = [match.groupdict().get(name) for name in ("k", "v", "kv")]
            facts["pool"] = facts.get("pool", 0.0) + sum(float(size) for size in sizes if size)


def _of(found: Amounts, text: str, match: re.Match[str]) -> dict[str, float]:
    return found.setdefault(rank_of(text, match.start()), {})


def _flags(text: str, found: Amounts, kv_dtype: str | None) -> BootFlags:
    return BootFlags(
        model=text_setting(text, "model_path"),
        gpu_memory_utilization=real_setting(text, "mem_fraction_static"),
        max_model_len=whole(pick(found, "length", "least"))
        or whole_setting(text, "context_length"),
        max_num_batched_tokens=whole_setting(text, "chunked_prefill_size"),
        max_num_seqs=whole(pick(found, "requests", "least"))
        or whole_setting(text, "max_running_requests"),
        tensor_parallel=whole_setting(text, "tp_size"),
        pipeline_parallel=whole_setting(text, "pp_size"),
        data_parallel=whole_setting(text, "dp_size"),
        dtype=text_setting(text, "dtype"),
        kv_dtype=text_setting(text, "kv_cache_dtype") or kv_dtype,
        quantization=text_setting(text, "quantization"),
        enforce_eager=switch_setting(text, "disable_cuda_graph"),
        block_size=whole_setting(text, "page_size"),
    )


def _word(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None
