"""Runs of `proa bench run` as a plan reads them: their levels, their hinge, what they measured."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from proa.domain.contract import ContractRule, ContractSpec
from proa.errors import FieldError

_SHORTER = 0.9
"""A level with inputs shorter than this part of the promised ones confirms nothing."""
_KEPT_RUN = b"SQLite format 3\0"


class BenchLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One level of a bench run; None is what was not measured."""

    users: int
    user_tokens_per_s: float | None = None
    tpot_s: float | None = None
    ttft_s: float | None = None
    ttft_p95_s: float | None = None
    attainment: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None

    def keeps(self, contract: ContractSpec) -> bool:
        """Whether it carried the promised sessions and inputs, and kept the whole promise."""
        inputs = contract.mean_input_tokens
        if self.users < contract.sessions or (self.input_tokens or inputs) < _SHORTER * inputs:
            return False
        speed, ttft = self.user_tokens_per_s, self.ttft_p95_s
        if speed is None or speed < contract.user_tokens_per_s:
            return False
        if contract.ttft_p95_s is not None and (ttft is None or ttft > contract.ttft_p95_s):
            return False
        if contract.rule is ContractRule.MEAN:
            return True
        return self.attainment is not None and self.attainment >= contract.attainment


class BenchHinge(msgspec.Struct, frozen=True, kw_only=True):
    """gap = a + b x users up to the knee; see `proa.bench.statistics.hinge`."""

    a_s: float
    b_s: float
    knee_users: float


class BenchRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run; `engines` are kinds, `targets` how many addresses shared the users."""

    file: str
    levels: tuple[BenchLevel, ...]
    hinge: BenchHinge | None = None
    models: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    targets: int = 1


def bench_run(name: str, text: str) -> BenchRun | None:
    """The run in a file of `proa bench run`, kept or as JSON; None for any other text.

    Raises:
        InputError: a kept run that is damaged or of another version.
    """
    document = _kept(name) if text.startswith(_KEPT_RUN.decode()) else _told(text)
    if document is None:
        return None
    conditions = _object(document.get("conditions"))
    targets = list(_objects(conditions.get("targets")))
    return BenchRun(
        file=name,
        levels=tuple(_level(each) for each in _objects(document["levels"])),
        hinge=_hinge(_object(document.get("hinge"))),
        models=_names(targets, "model"),
        gpus=tuple(
            str(each["name"]) for each in _objects(conditions.get("gpus")) if each.get("name")
        ),
        engines=_names(_objects(conditions.get("engines")), "kind"),
        targets=max(1, len(targets)),
    )


def _kept(name: str) -> dict[str, Any]:
    from proa.bench.keep.documents import document_of
    from proa.bench.keep.kept import kept

    found = kept(Path(name))
    if found.kind != "run":
        raise FieldError("calibrate", name, f"a kept run of proa bench run, not {found.kind}")
    return document_of(found.result)


def _told(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_run = isinstance(document, dict) and isinstance(document.get("levels"), list)
    return document if is_run else None


def _level(level: Mapping[str, Any]) -> BenchLevel:
    speed = _number(_object(level.get("user_tokens_per_s")).get("mean"))
    gap = _number(_object(level.get("tpot_s")).get("mean"))
    return BenchLevel(
        users=int(_number(level.get("users")) or 0),
        user_tokens_per_s=speed,
        tpot_s=gap or (1 / speed if speed else None),
        ttft_s=_number(_object(level.get("ttft_s")).get("mean")),
        ttft_p95_s=_number(_object(level.get("ttft_s")).get("p95")),
        attainment=_number(level.get("attainment")),
        input_tokens=_length(level.get("input_length")),
        output_tokens=_length(level.get("output_length")),
    )


def _length(told: object) -> float | None:
    length = _object(told)
    return _number(length.get("actual")) or _number(length.get("asked"))


def _hinge(told: Mapping[str, Any]) -> BenchHinge | None:
    a, b, knee = (_number(told.get(key)) for key in ("a_s", "b_s", "knee_users"))
    if a is None or b is None or knee is None or a <= 0 or b < 0 or knee < 2:
        return None
    return BenchHinge(a_s=a, b_s=b, knee_users=knee)


def _names(
    rows: Sequence[Mapping[str, Any]] | Iterator[Mapping[str, Any]], key: str
) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(row[key]) for row in rows if row.get(key)))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
