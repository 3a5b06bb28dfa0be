"""Flags and the lines of a batch file → the start of an engine, and the logs to correct it by."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from proa.cli.fit.fields import BY_NAME
from proa.cli.fit.values import (
    asked_bytes,
    asked_gpu,
    asked_kv_dtype,
    asked_model,
    asked_part,
    asked_rows,
)
from proa.cli.plan.values import nearest, read_value
from proa.domain.llm import LlmSpec, WeightFormat
from proa.errors import FieldError
from proa.planner.boot_log.facts import BootLog
from proa.planner.fit.profiles import parse_version
from proa.planner.fit.spec import FitSpec
from proa.planner.layout import LayoutSpec
from proa.planner.place.parallel_limits import check_parallel


class FitAsked(msgspec.Struct, frozen=True, kw_only=True):
    """One start, how many equal replicas of it, and the logs of its machine by file name."""

    spec: FitSpec
    gpus: int
    boots: tuple[tuple[str, BootLog], ...] = ()

    @property
    def replicas(self) -> int:
        """Engines of their own on so many GPUs."""
        return self.gpus // self.spec.layout.gpus


def read_keys(keys: Mapping[str, object]) -> dict[str, Any]:
    """The values of a flag or batch line, checked one by one; None is as if it were not there.

    Raises:
        FieldError: a key that no question is, or a value that cannot be used.
    """
    values: dict[str, Any] = {}
    for key, value in keys.items():
        if key not in BY_NAME:
            raise FieldError(key, value, f"a flag of proa fit; {nearest(key, BY_NAME)}")
        if value is not None:
            values[key] = read_value(BY_NAME[key], value)
    return values


def asked_of(values: Mapping[str, Any]) -> FitAsked:
    """The start that checked values ask for.

    Where they name no engine, it is the logs'; where they name neither GPUs nor how to lay over
    them, it is as the logs' engine lay.

    Raises:
        FieldError: something is missing, unknown, or does not go together.
        InputError: a log that cannot be read.
    """
    boots = tuple((name, _boot(name)) for name in values.get("calibrate", ()))
    logged = _logged([boot for _, boot in boots])
    if values.keys() & {"gpus", "tp", "pp"}:
        logged = {"engine": logged["engine"]} if "engine" in logged else {}
    values = {**logged, **values}
    engine = values.get("engine", "vllm")
    _check_version(engine, values.get("engine_version"))
    rows = asked_rows(values.get("catalogue", ()))
    llm = asked_model(values.get("model"), values.get("quantization"), rows)
    gpu = asked_gpu(values.get("gpu"), rows)
    layout, gpus = _layout(values, llm, engine)
    passed: dict[str, Any] = {name: values.get(name) for name in _PASSED}
    spec = FitSpec(
        llm=llm,
        gpu=gpu,
        layout=layout,
        engine=engine,
        kv_dtype=asked_kv_dtype(values.get("kv_dtype")),
        plain=WeightFormat.FP32 if values.get("dtype") == "float32" else WeightFormat.BF16,
        enforce_eager=values.get("enforce_eager", False),
        block_tokens=values.get("block_size"),
        kv_cache_memory_bytes=asked_bytes("kv_cache_memory", values.get("kv_cache_memory")),
        taken_bytes=asked_part(gpu, "taken", values.get("taken")),
        headroom_bytes=asked_part(gpu, "headroom", values.get("headroom")),
        **passed,
    )
    return FitAsked(spec=spec, gpus=gpus, boots=boots)


_PASSED = (
    "engine_version",
    "gpu_memory_utilization",
    "mem_fraction_static",
    "max_model_len",
    "max_num_batched_tokens",
    "max_num_seqs",
)


def _logged(boots: list[BootLog]) -> dict[str, Any]:
    """Engine and layout that all logs have in common."""
    found: dict[str, set[Any]] = {
        "engine": {boot.engine for boot in boots},
        "tp": {boot.flags.tensor_parallel for boot in boots},
        "pp": {boot.flags.pipeline_parallel for boot in boots},
    }
    common = {name: values.pop() for name, values in found.items() if len(values) == 1}
    return {name: value for name, value in common.items() if value is not None}


def _check_version(engine: str, version: str | None) -> None:
    if version is not None and engine != "llamacpp" and parse_version(version) is None:
        raise FieldError("engine_version", version, "a version, as 0.19.0")


def _layout(values: Mapping[str, Any], llm: LlmSpec, engine: str) -> tuple[LayoutSpec, int]:
    """One replica, and the GPUs of all: without tp and pp one replica takes them all."""
    gpus, tp, pp = (values.get(name) for name in ("gpus", "tp", "pp"))
    if tp is None and pp is None:
        tp, pp = (1, gpus) if engine == "llamacpp" else (gpus, 1)
    elif tp is None and gpus is not None and gpus % pp == 0:
        tp = 1 if engine == "llamacpp" else gpus // pp
    tp, pp = tp or 1, pp or 1
    gpus = gpus or tp * pp
    if gpus % (tp * pp):
        raise FieldError("gpus", gpus, f"a multiple of tp x pp = {tp * pp}")
    expert = values.get("expert_parallel", False)
    if engine == "llamacpp":
        _check_layers(llm, tp, pp)
    else:
        check_parallel(llm, tp, pp, expert_parallel=expert)
    layout = LayoutSpec(tensor_parallel=tp, pipeline_parallel=pp, expert_parallel=expert)
    return layout, gpus


def _check_layers(llm: LlmSpec, tp: int, pp: int) -> None:
    if tp > 1:
        raise FieldError("tp", tp, "1: llama.cpp splits layers, give --pp or --gpus")
    if pp > llm.layer_count:
        raise FieldError("pp", pp, f"from 1 to the {llm.layer_count} layers of {llm.id}")


@cache
def _boot(name: str) -> BootLog:
    from proa.planner.boot_log.read import read_boot_log

    try:
        text = Path(name).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FieldError("calibrate", name, f"a readable file ({reason})") from None
    return read_boot_log(text, name=name)
