"""Names and sizes of a start, as people write them → models, GPUs, types and bytes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from proa.cli.plan.asked import ModelAsked, PlanAsked
from proa.cli.plan.subject import catalogue_of, gpu_of, subject_of
from proa.domain.gpu import GpuSpec
from proa.domain.llm import LlmSpec, Quantization, WeightFormat
from proa.errors import FieldError, InputError
from proa.planner.memory.gguf import GGUF_BITS, gguf_quantization
from proa.planner.memory.kv_cache import KvDtype, parse_kv_dtype
from proa.planner.memory.weights import with_precision
from proa.units import parse_bytes

if TYPE_CHECKING:
    from proa.catalog.user_rows import Catalogue

_METHODS = {
    "awq": Quantization(method="awq", format=WeightFormat.INT4, group_size=128),
    "gptq": Quantization(method="gptq", format=WeightFormat.INT4, group_size=128),
}
_UNQUANTISED = ("none", "bf16", "bfloat16", "fp16", "float16")


Rows: TypeAlias = "Catalogue | None"
"""GPUs and models of the user's own, which are looked at first."""


@cache
def asked_rows(files: tuple[str, ...]) -> Rows:
    """The rows of `--catalogue`.

    Raises:
        InputError: a file that cannot be read, or a row that cannot be used.
    """
    return catalogue_of(PlanAsked(catalogue=files))


def asked_model(name: str | None, quantization: str | None, rows: Rows) -> LlmSpec:
    """The model, as its checkpoint is or as the flag wants it.

    Raises:
        FieldError: no such model, no config.json, or no such quantisation.
    """
    if name is None:
        raise FieldError("model", None, "a name of the catalogue, or the path of a config.json")
    with _nearest_told():
        subject = subject_of(ModelAsked(model=name), rows=rows)
    assert subject is not None
    return _quantised(subject.llm, quantization)


def asked_gpu(name: str | None, rows: Rows) -> GpuSpec:
    """The GPU of the catalogue.

    Raises:
        FieldError: no such GPU.
    """
    if name is None:
        raise FieldError("gpu", None, "a name of the catalogue, as h100-80gb")
    with _nearest_told():
        return gpu_of(name, rows=rows)


def asked_kv_dtype(name: str | None) -> KvDtype:
    """The type of the cache.

    Raises:
        FieldError: no such type.
    """
    try:
        return parse_kv_dtype(name)
    except InputError as error:
        accepted = str(error).partition("accepted is ")[2]
        raise FieldError("kv_dtype", name, f"one of {accepted}") from None


def asked_bytes(field: str, text: str | None) -> int | None:
    """Bytes with a unit.

    Raises:
        FieldError: no whole number of bytes with a unit that is clear.
    """
    if text is None:
        return None
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise FieldError(field, text, str(error).partition("accepted is ")[2]) from None


def asked_part(gpu: GpuSpec, field: str, text: str | None) -> int:
    """Bytes that are a part of the GPU; 0 where nothing is said.

    Raises:
        FieldError: as `asked_bytes`, or as much as the GPU has.
    """
    size = asked_bytes(field, text) or 0
    if size >= gpu.usable_bytes:
        room = f"{gpu.usable_bytes / 2**30:.2f} GiB of {gpu.id}"
        raise FieldError(field, text, f"less than the {room}")
    return size


def _quantised(llm: LlmSpec, name: str | None) -> LlmSpec:
    """The checkpoint as the flag wants it; its own method named again changes nothing."""
    if name is None or name.lower() == "auto":
        return llm
    word, own = name.lower(), llm.quantization
    if own is not None and word in (own.method.lower(), own.format.value):
        return llm
    if word in _UNQUANTISED:
        return msgspec.structs.replace(llm, quantization=None)
    quantization = _METHODS.get(word) or gguf_quantization(word)
    if quantization is not None:
        return msgspec.structs.replace(llm, quantization=quantization)
    try:
        return with_precision(llm, word)
    except InputError:
        words = (*_UNQUANTISED[:2], *_METHODS, *WeightFormat, *GGUF_BITS)
        accepted = f"one of {', '.join(dict.fromkeys(words))}"
        raise FieldError("quantization", name, accepted) from None


@contextmanager
def _nearest_told() -> Iterator[None]:
    """What the catalogue says of an unknown name, as what is accepted in its place."""
    try:
        yield
    except FieldError as error:
        _, mark, near = error.accepted.partition("; nearest: ")
        if not mark:
            raise
        accepted = f"a name of the catalogue; nearest: {near}"
        raise FieldError(error.field, error.value, accepted) from None
