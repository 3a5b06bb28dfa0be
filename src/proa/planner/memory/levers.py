"""The same need under other precisions and contexts: what each lever does to the memory.

A first pass against the memory that the driver reports; engine overheads are in `fit.py`.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from proa.planner import bounds as b

WEIGHTS = ("bf16", "fp8", "int8", "int4")
KV_DTYPES = ("bf16", "fp8")


class LeversSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared: `weights_bytes` by precision, `contexts` in tokens, and the GPU.

    `usable_bytes` is what the GPU's driver reports as total, None where no GPU is named.
    """

    weights_bytes: Mapping[str, int]
    kv_dtypes: Sequence[str]
    contexts: Sequence[int]
    sessions: int
    usable_bytes: int | None = None


class LeverRow(msgspec.Struct, frozen=True, kw_only=True):
    """One combination. `gpus` is the least whole number by memory alone; None without a GPU."""

    weights: str
    kv: str
    context_tokens: int
    sessions: int
    weights_bytes: int
    kv_bytes_per_session: int
    kv_bytes: int
    total_bytes: int
    gpus: int | None
    fits_one_gpu: bool | None


def levers(
    spec: LeversSpec, kv_bytes_per_session: Callable[[str, int], int]
) -> tuple[LeverRow, ...]:
    """Every combination, contexts outermost, then weights, then KV.

    total = weights + sessions x kv_bytes_per_session(kv dtype, context); all sessions full.

    Not modelled:
        engine overheads, replication of KV heads, and what a GPU's own share of a layer wastes
        (`placement` has them).
    """
    b.checked("sessions", spec.sessions, b.COUNT)
    for tokens in spec.contexts:
        b.checked("context", tokens, b.COUNT)
    return tuple(
        _row(spec, (weights, kv, tokens), kv_bytes_per_session(kv, tokens))
        for tokens in spec.contexts
        for weights in spec.weights_bytes
        for kv in spec.kv_dtypes
    )


def _row(spec: LeversSpec, choice: tuple[str, str, int], kv_each: int) -> LeverRow:
    weights, kv, tokens = choice
    weights_bytes = spec.weights_bytes[weights]
    total = weights_bytes + kv_each * spec.sessions
    usable = spec.usable_bytes
    return LeverRow(
        weights=weights,
        kv=kv,
        context_tokens=tokens,
        sessions=spec.sessions,
        weights_bytes=weights_bytes,
        kv_bytes_per_session=kv_each,
        kv_bytes=kv_each * spec.sessions,
        total_bytes=total,
        gpus=None if usable is None else -(-total // usable),
        fits_one_gpu=None if usable is None else total <= usable,
    )
