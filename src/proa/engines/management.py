"""Paths by which engines are managed, not used: no ordinary key may reach them through the gateway.

Source: routes of vLLM 0.32 and SGLang 0.5.23, tools/server/README.md of llama.cpp, Ollama's
docs/api.md, Triton's repository, logging, trace and shared-memory extensions.
"""

from urllib.parse import unquote_to_bytes

_EXACT = frozenset(
    b"""
    /metrics /prometheus/metrics /server_info /get_server_info /props /lora-adapters
    /v1/load_lora_adapter /v1/unload_lora_adapter /load_lora_adapter /unload_lora_adapter
    /load_lora_adapter_from_tensors
    /sleep /wake_up /is_sleeping /pause /resume /is_paused /collective_rpc /scale_elastic_ep
    /reset_prefix_cache /reset_mm_cache /reset_encoder_cache /start_profile /stop_profile
    /flush_cache /clear_hicache_storage_backend /release_memory_occupation
    /resume_memory_occupation /pause_generation /continue_generation /abort_request /slow_down
    /configure_logging /set_internal_state /set_trace_level /dump_loads
    /init_weights_update_group /destroy_weights_update_group /init_weight_transfer_engine
    /get_weights_by_name /weights_checker /open_session /close_session
    /api/pull /api/push /api/create /api/delete /api/copy
    /v2/logging /models/load /models/unload
    """.split()
)
_BEGINNINGS = (
    b"/update_weight", b"/slots", b"/api/blobs/", b"/v2/repository/", b"/v2/trace/",
    b"/v2/systemsharedmemory", b"/v2/cudasharedmemory", b"/v2/tpusharedmemory", b"/emulator/",
    b"/start_expert_distribution", b"/stop_expert_distribution", b"/dump_expert_distribution",
    b"/hicache/",
)  # fmt: skip
_TRACE = b"/trace/setting"


def is_management(path: bytes) -> bool:
    """Whether an engine could take `path`, as it came over the wire, for one of these.

    Engines decode percent-encoding, some mend double and last slashes and dot segments:
    what a path may become counts.
    """
    plain = mended(path).lower()
    return plain in _EXACT or plain.startswith(_BEGINNINGS) or plain.endswith(_TRACE)


def mended(path: bytes) -> bytes:
    """A path as an engine may read it: decoded, without double or last slashes and dots."""
    kept: list[bytes] = []
    for segment in unquote_to_bytes(path).replace(b"\\", b"/").split(b"/"):
        if segment == b"..":
            del kept[-1:]
        elif segment not in (b"", b"."):
            kept.append(segment)
    return b"/" + b"/".join(kept)
