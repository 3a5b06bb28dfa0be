"""Memory of a plan's model before any engine: weights, cache, levers, and how context grows."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from proa.cli.plan.lengths import Lengths
from proa.cli.plan.subject import Subject
from proa.cli.plan.texts import both
from proa.domain.gpu import GpuSpec
from proa.domain.llm import WeightFormat
from proa.planner.demand.context import SWEEP, sweep_context
from proa.planner.memory.kv_cache import kv_bytes_per_sequence, kv_bytes_per_token, parse_kv_dtype
from proa.planner.memory.lever_notes import lever_note
from proa.planner.memory.levers import KV_DTYPES, WEIGHTS, LeverRow, LeversSpec, levers
from proa.planner.memory.tensors import active_parameter_count, parameter_count
from proa.planner.speed.roofline import peak_flops
from proa.planner.text import Text

Json = dict[str, Any]
_ARITHMETIC = {"fp8": "fp8", "int8": "int8", "nvfp4": "fp4", "mxfp4": "fp4"}


def model_document(subject: Subject | None) -> Json:
    """The model's facts; all null where nobody named one."""
    if subject is None:
        return dict.fromkeys(("id", "parameters", "weights_bytes", "kv_bytes_per_token"))
    llm = subject.llm
    return {
        "id": llm.id,
        "parameters": llm.parameters or parameter_count(llm),
        "active_parameters": active_parameter_count(llm),
        "layers": llm.layer_count,
        "max_context": llm.max_context or None,
        "weights": subject.weights,
        "weights_bytes": subject.weights_bytes(),
        "kv_dtype": subject.kv,
        "kv_bytes_per_token": _plain(kv_bytes_per_token(llm, subject.kv_dtype)),
        "source": llm.source,
    }


def context_document(
    subject: Subject | None, lengths: Lengths, sessions: int | None, language: str
) -> Json:
    """The parts of a request, and the memory of all sessions at 8K to 128K."""
    parts = [
        {
            "key": part.key,
            "name": part.name.say(language),
            "filled": part.filled,
            "tokens": part.tokens,
        }
        for part in lengths.parts
    ]
    told: Json = {
        "context_tokens": lengths.context_tokens,
        "input_tokens": lengths.input_tokens,
        "output_tokens": lengths.output_tokens,
        "parts": parts,
        "sweep": [],
    }
    if subject is not None and sessions is not None:
        rows = sweep_context(
            lambda tokens: kv_bytes_per_sequence(subject.llm, tokens, subject.kv_dtype),
            sessions=sessions,
            weights_bytes=subject.weights_bytes(),
            contexts=tuple(sorted({*SWEEP, lengths.context_tokens})),
        )
        told["sweep"] = [msgspec.structs.asdict(row) for row in rows]
    return told


def lever_rows(
    subject: Subject, lengths: Lengths, sessions: int, gpu: GpuSpec | None
) -> tuple[LeverRow, ...]:
    """The same need in every precision, at the plan's context and at 8K to 128K."""

    @cache
    def kv_bytes(kv: str, tokens: int) -> int:
        return kv_bytes_per_sequence(subject.llm, tokens, parse_kv_dtype(kv))

    formats = [*WEIGHTS, *([subject.weights] if subject.weights not in WEIGHTS else [])]
    caches = [*KV_DTYPES, *([subject.kv] if subject.kv not in KV_DTYPES else [])]
    rest = [tokens for tokens in SWEEP if tokens != lengths.context_tokens]
    return levers(
        LeversSpec(
            weights_bytes={name: subject.bytes_in(name) for name in formats},
            kv_dtypes=caches,
            contexts=[lengths.context_tokens, *rest],
            sessions=sessions,
            usable_bytes=None if gpu is None else gpu.usable_bytes,
        ),
        kv_bytes,
    )


def note_documents(rows: Sequence[LeverRow], gpu: GpuSpec | None, language: str) -> list[Json]:
    """What each precision of the rows costs, the check that shows it, and what it needs."""
    used = dict.fromkeys([*(("weights", r.weights) for r in rows), *(("kv", r.kv) for r in rows)])
    notes = (lever_note(lever, choice, gpu) for lever, choice in used)
    return [
        {
            "lever": note.lever,
            "choice": note.choice,
            "costs": note.costs.say(language),
            "check": note.check,
            "needs": note.needs.say(language),
            "is_supported": note.is_supported,
        }
        for note in notes
        if note is not None
    ]


def precision_warnings(subject: Subject, gpu: GpuSpec | None) -> list[Text]:
    """A precision that the GPU computes only after unpacking."""
    needed = _ARITHMETIC.get(subject.weights)
    if gpu is None or needed is None or needed in gpu.flops:
        return []
    speed = peak_flops(gpu, WeightFormat(subject.weights)) / 1e12
    text = both("warn_unpacked")
    return [text.fill(gpu=gpu.name, weights=subject.weights, tflops=f"{speed:,.0f}")]


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number
