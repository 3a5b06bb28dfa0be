"""llama.cpp's start-up lines: llama-server, its predecessors' wording, and ollama's summary.

Sizes are MiB, buffer by buffer and device by device; what lies in RAM (CPU, *_Host) is apart.
llama-server from 2026 on says them only with `-lv 4` or more, and reckons a start without memory
(buffers of 0.00 MiB) before the real one.
"""

import re

from proa.planner.boot_log.facts import GIB, MIB, BootFlags, BootLog, TokenMeaning
from proa.planner.boot_log.scan import last_start

LOOKED_FOR = (
    "llama.cpp: 'KV buffer size = N MiB', 'size = N MiB (N cells, N layers …)', or ollama's"
    " 'msg=\"kv cache\"' (llama-server says them with -lv 4)"
)

MARK = re.compile(
    r"KV buffer size =|MiB \( *\d+ cells,|msg=\"kv cache\"|model buffer size =|llama_model_loader:"
    r"|srv +llama_server:|llama_context:"
)
_OPENING = re.compile(r"loaded meta data with|msg=\"starting runner\"")
_ESSENTIAL = re.compile(r"KV buffer size =|msg=\"kv cache\"")

_BUFFER = re.compile(
    r"(?P<device>\S+) +(?P<what>model |KV |RS |compute |output )?buffer size = +(?P<mib>[\d.]+) MiB"
)
_OLLAMA = re.compile(
    r'msg="(?P<what>model weights|kv cache|compute graph)" device=(?P<device>\S+)'
    r' size="(?P<size>[\d.]+) (?P<unit>[KMG]iB|B)"'
)
_POOL = re.compile(
    r"size = +(?P<mib>[\d.]+) MiB \( *(?P<cells>\d+) cells, +(?P<layers>\d+) layers,"
    r" +(?:\d+/)?(?P<seqs>\d+) seqs\), K \((?P<dtype>\w+)\)"
)
_DEVICE = re.compile(r"using device (\S+) \((.*?)\)(?: \([^)]*\))? - (\d+) MiB free")
_TABLE = re.compile(r"\|   - ([A-Z]\w*\d+) \((.+?)\) *\| *(\d+) = (\d+) \+ \(")
_WHOLE = {
    "max_model_len": re.compile(r"n_ctx_(?:per_)?seq +(?:= +|\()(\d+)"),
    "context": re.compile(r"n_ctx +(?:= |: )(\d+)"),
    "sequences": re.compile(r"(?:n_seq_max|n_slots|n_parallel) += (\d+)"),
    "ubatch": re.compile(r"n_ubatch += (\d+)"),
}
_NAME = re.compile(r"general\.name(?: +str)? += (.+)")
_FILE = re.compile(r"loaded meta data with .* from (\S+)|loading model '([^']+)'")
_ARCHITECTURE = re.compile(r"(?:print_info: arch|general\.architecture str) += ([\w-]+)")
_FILE_TYPE = re.compile(r"(?:print_info: file type|model ftype) += (.+)")
_BUILD = re.compile(r"build: (\d+)|build_info: (\S+)|version: (\d+) \(")

_UNITS = {"B": 1, "KiB": 2**10, "MiB": MIB, "GiB": GIB}
_OLLAMA_WORDS = {"model weights": "model ", "kv cache": "KV ", "compute graph": "compute "}


def read_llamacpp(text: str) -> BootLog:
    """The facts of the last complete start in `text`, which is free of colours."""
    text = last_start(text, _OPENING, _ESSENTIAL)
    sizes = _sizes(text)
    pools = [match.groupdict() for match in _POOL.finditer(text)]
    wholes = {name: _whole(pattern, text) for name, pattern in _WHOLE.items()}
    kv, state = _sum(sizes, "KV "), _sum(sizes, "RS ")
    cells = [int(pool["cells"]) for pool in pools]
    sequences = wholes["sequences"] or (int(pools[0]["seqs"]) if pools else None)
    length = _length(wholes, sequences)
    name, total, free = _device(text)
    return BootLog(
        engine="llamacpp",
        engine_version=_word(_BUILD, text),
        architecture=_word(_ARCHITECTURE, text),
        gpu_name=name,
        gpu_total_bytes=total,
        gpu_free_bytes=free,
        flags=BootFlags(
            model=_word(_NAME, text) or _word(_FILE, text),
            max_model_len=length,
            max_num_batched_tokens=wholes["ubatch"],
            max_num_seqs=sequences,
            kv_dtype=pools[0]["dtype"] if pools else None,
            quantization=_word(_FILE_TYPE, text),
        ),
        weights_bytes=_sum(sizes, "model "),
        host_weights_bytes=_sum(sizes, "model ", host=True),
        activation_bytes=_sum(sizes, "compute "),
        kv_cache_bytes=_sum(sizes, "KV ", host=True) if kv is None else kv,
        state_bytes=state,
        kv_cache_tokens=max(cells) * _streams(pools) if cells else None,
        swa_tokens=min(cells) if len(cells) > 1 else None,
        max_concurrency=None if sequences is None else float(sequences),
        token_meaning=TokenMeaning.CELLS if cells else None,
    )


def _sizes(text: str) -> dict[tuple[str, str], float]:
    """(what, device) → bytes; a warm-up or a second context of the same buffer does not add."""
    sizes: dict[tuple[str, str], float] = {}
    seen: set[tuple[str, str, str]] = set()
    for match in _BUFFER.finditer(text):
        what, device = match["what"] or "model ", match["device"]
        if what == "compute " or (what, device, match["mib"]) not in seen or what == "KV ":
            seen.add((what, device, match["mib"]))
            before = 0.0 if what == "compute " else sizes.get((what, device), 0.0)
            sizes[what, device] = before + float(match["mib"]) * MIB
    for match in _OLLAMA.finditer(text):
        key = (_OLLAMA_WORDS[match["what"]], match["device"])
        sizes.setdefault(key, float(match["size"]) * _UNITS[match["unit"]])
    return sizes


def _sum(sizes: dict[tuple[str, str], float], what: str, *, host: bool = False) -> int | None:
    parts = [
        size for (kind, device), size in sizes.items() if kind == what and _is_host(device) is host
    ]
    return round(sum(parts)) or None


def _is_host(device: str) -> bool:
    return device.startswith("CPU") or device.endswith("_Host") or device in ("AMX", "BLAS")


def _length(wholes: dict[str, int | None], sequences: int | None) -> int | None:
    """Context of one sequence: said, or the whole context over the sequences."""
    if wholes["max_model_len"] is not None:
        return wholes["max_model_len"]
    context = wholes["context"]
    return None if context is None else context // (sequences or 1)


def _streams(pools: list[dict[str, str]]) -> int:
    """Copies of the cells: each sequence has its own unless the cache is unified."""
    return int(pools[0]["seqs"]) if pools else 1


def _device(text: str) -> tuple[str | None, int | None, int | None]:
    if match := _TABLE.search(text):
        return match[2], int(match[3]) * MIB, None
    if match := _DEVICE.search(text):
        return match[2], None, int(match[3]) * MIB
    return None, None, None


def _whole(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _word(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return next((part.strip() for part in match.groups() if part), None) if match else None
