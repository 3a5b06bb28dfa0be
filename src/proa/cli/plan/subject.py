"""What a plan is about: the model, in the precision asked for, and the GPU."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from proa.cli.plan.asked import ModelAsked, PlanAsked
from proa.cli.plan.texts import both
from proa.domain.gpu import GpuSpec
from proa.domain.llm import LlmSpec
from proa.errors import FieldError, InputError
from proa.planner.assumptions import Assumption
from proa.planner.memory.kv_cache import KvDtype, parse_kv_dtype
from proa.planner.memory.model_sketch import SketchSpec, sketch_model
from proa.planner.memory.weights import bytes_of_parameters, weights_bytes, with_precision

if TYPE_CHECKING:
    from proa.catalog.user_rows import Catalogue


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A model with its precisions; `is_sketch` where only its size is known."""

    llm: LlmSpec
    weights: str
    kv_dtype: KvDtype
    is_sketch: bool = False
    assumptions: tuple[Assumption, ...] = ()

    @property
    def kv(self) -> str:
        """The precision of the cache as a plan names it."""
        return "bf16" if self.kv_dtype is KvDtype.AUTO else self.kv_dtype.value

    def weights_bytes(self) -> int:
        """All weights once; of a bare size without scales, as an offer's first line has it."""
        return self.bytes_in(self.weights)

    def bytes_in(self, weights: str) -> int:
        """The same in another precision."""
        if self.is_sketch:
            return bytes_of_parameters(self.llm.parameters or 0, weights)
        return weights_bytes(self.in_precision(weights).llm)

    def in_precision(self, weights: str, kv: str | None = None) -> "Subject":
        """The same model in another precision."""
        llm = self.llm if weights == self.weights else with_precision(self.llm, weights)
        kv_dtype = self.kv_dtype if kv is None else parse_kv_dtype(kv)
        return msgspec.structs.replace(self, llm=llm, weights=weights, kv_dtype=kv_dtype)


def subject_of(
    asked: PlanAsked | ModelAsked, field: str = "", rows: "Catalogue | None" = None
) -> Subject | None:
    """The model that was asked for, or None where nobody named one; `field` leads its errors.

    `rows` are those of the user, which are looked at first.

    Raises:
        FieldError: an unknown model, a file that is no config.json, or contradicting sizes.
    """
    assumed: list[Assumption] = []
    if asked.model is not None:
        llm, is_sketch = _named(asked.model, f"{field}model", rows), False
    elif asked.params is not None:
        llm, is_sketch = _sketched(asked, asked.params), True
        assumed.append(_shape_assumed(llm))
    else:
        return None
    weights = asked.weights or _own_precision(llm)
    if asked.weights is None:
        assumed.append(_assumed("weights", weights))
    elif asked.weights != _own_precision(llm):
        llm = with_precision(llm, asked.weights)
    if asked.kv_dtype is None:
        assumed.append(_assumed("kv_dtype", "bf16"))
    return Subject(
        llm=llm,
        weights=weights,
        kv_dtype=parse_kv_dtype(asked.kv_dtype or ""),
        is_sketch=is_sketch,
        assumptions=tuple(assumed),
    )


def catalogue_of(asked: PlanAsked) -> "Catalogue | None":
    """The user's own rows, or None where there are none.

    Raises:
        InputError: a file that cannot be read, or a row that cannot be used.
    """
    if not asked.catalogue:
        return None
    from proa.catalog.user_rows import Catalogue, catalogue_from_toml
    from proa.config.document import read_document

    gpus: dict[str, GpuSpec] = {}
    models: dict[str, LlmSpec] = {}
    for name in asked.catalogue:
        found = catalogue_from_toml(read_document(Path(name)).data, file=name)
        gpus |= found.gpus
        models |= found.models
    return Catalogue(gpus=gpus, models=models)


def gpu_of(name: str, field: str = "gpu", rows: "Catalogue | None" = None) -> GpuSpec:
    """The GPU of the catalogue, the user's rows first.

    Raises:
        FieldError: no such GPU, with the nearest ids.
    """
    from proa.catalog.gpus import find_gpu

    try:
        return find_gpu(name) if rows is None else rows.find_gpu(name)
    except FieldError:
        raise
    except InputError as error:
        raise FieldError(field, name, _tail(error)) from None


def _named(name: str, field: str, rows: "Catalogue | None") -> LlmSpec:
    from proa.catalog.models import find_model

    if name.endswith(".json") or Path(name).is_file():
        return _of_file(Path(name), field)
    try:
        return find_model(name) if rows is None else rows.find_model(name)
    except FieldError:
        raise
    except InputError as error:
        raise FieldError(field, name, _tail(error)) from None


def _of_file(path: Path, field: str) -> LlmSpec:
    from proa.catalog.hub_config import llm_from_config

    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = f"a readable file ({error.strerror})"
        raise FieldError(field, str(path), reason) from None
    except (ValueError, RecursionError):
        raise FieldError(field, str(path), "a config.json of a model, in JSON") from None
    if not isinstance(config, dict):
        raise FieldError(field, str(path), "a config.json of a model, which is an object")
    name = path.parent.name if path.name == "config.json" else path.stem
    return llm_from_config(config, id=name or "config.json", source=str(path))


def _sketched(asked: PlanAsked | ModelAsked, parameters: float) -> LlmSpec:
    shape = {name: getattr(asked, name, None) for name in ("layers", "kv_heads", "head_dim")}
    return sketch_model(
        SketchSpec(parameters=parameters, active_parameters=asked.active_params, **shape)
    )


def _own_precision(llm: LlmSpec) -> str:
    return "bf16" if llm.quantization is None else llm.quantization.format.value


def _shape_assumed(llm: LlmSpec) -> Assumption:
    attention = llm.layers[0].attention
    text = both("assumed_shape").fill(
        model=llm.id,
        layers=llm.layer_count,
        kv_heads=getattr(attention, "kv_heads", 0),
        head_dim=getattr(attention, "head_dim", 0),
    )
    return Assumption(field="model", value=llm.id, text=text)


def _assumed(field: str, value: str) -> Assumption:
    return Assumption(field=field, value=value, text=both(f"assumed_{field}").fill(value=value))


def _tail(error: InputError) -> str:
    """What a catalogue says of a name that it does not have, as what would be accepted."""
    told = str(error)
    near = told.partition("nearest: ")[2]
    return f"a name of the catalogue; nearest: {near}" if near else told
