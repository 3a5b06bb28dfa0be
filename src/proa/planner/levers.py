"""The same need under other precisions and contexts: what each lever does to the memory.

A first pass against the memory that the driver reports; engine overheads are in `fit.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import msgspec

from proa.planner import bounds as b

GB = 10**9
GIB = 2**30
_WEIGHT_BYTES = {
    "bf16": Fraction(2),
    "fp8": Fraction(1),
    "int8": Fraction(1),
    "int4": Fraction(1, 2),
}
_KV_BYTES = {"bf16": 2, "fp8": 1}

WEIGHTS = tuple(_WEIGHT_BYTES)
KV_DTYPES = tuple(_KV_BYTES)


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


def weights_of_parameters(parameters: int) -> dict[str, int]:
    """Bytes by precision where nothing but the number of parameters is known.

    2, 1, 1 and ½ bytes each; scales and layers that stay in bf16 are not counted (a catalogue
    model or a config.json has them, per tensor).
    """
    return {name: int(parameters * each) for name, each in _WEIGHT_BYTES.items()}


def kv_of_token_bytes(bf16_bytes_per_token: int) -> Callable[[str, int], int]:
    """KV bytes of a session where every token costs the same: bf16 in full, fp8 half."""

    def kv_bytes_per_session(kv: str, tokens: int) -> int:
        return bf16_bytes_per_token * _KV_BYTES[kv] * tokens // 2

    return kv_bytes_per_session


def mixed_total(weights_bytes: int, kv_bytes: int) -> float:
    """Weights in GB plus KV in GiB, as if they were one unit.

    For comparing with texts that add them so; it is too small by 7 % of the KV part.
    """
    return weights_bytes / GB + kv_bytes / GIB
