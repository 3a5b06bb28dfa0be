"""What the flags of `proa bench run` ask, as a specification."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from proa.bench.arrivals import Arrival
from proa.bench.conditions import noted
from proa.bench.datasets import DatasetRow, read_dataset
from proa.bench.gauges import GaugeSpec
from proa.bench.lengths import LengthSpec, parse_length
from proa.bench.run_spec import DEFAULT_USERS, Order, RunSpec
from proa.bench.slo import SloSpec, contract_slo, parse_slo
from proa.bench.target import CHAT_PATH, TargetSpec, address_of, post_head
from proa.bench.trace import TraceRow, read_trace
from proa.bench.window import WindowSpec
from proa.bench.workloads import Language, RagSpec, WorkloadSpec
from proa.domain.contract import ContractSpec
from proa.errors import FieldError, InputError
from proa.units import parse_tokens

T = TypeVar("T")


def asked_of(args: argparse.Namespace) -> RunSpec:
    """Raises InputError: a flag that cannot be used."""
    contract = _contract(args)
    trace = _trace(args)
    _refuse_both(args, trace)
    users: tuple[int, ...] = DEFAULT_USERS
    if args.levels is not None:
        users = _numbers("--levels", args.levels, int, "users, as 8,16,24")
    elif contract is not None:
        users = (contract.sessions,)
    return RunSpec(
        targets=targets_of(args, contract),
        workload=_workload(args, contract, trace),
        users=users,
        rates=_numbers("--rate", args.rate, float, "requests per second, as 5,10")
        if args.rate
        else (),
        arrival=Arrival(args.arrival),
        burstiness=args.burstiness,
        order=Order(args.order),
        repeat_first=not args.no_repeat,
        search=contract is None and not args.ladder_only,
        window=_window(args),
        slo=_slo(args, contract),
        timeout_s=_positive("--timeout", args.timeout),
        max_concurrency=args.max_concurrency,
        max_connections=args.max_connections,
        max_time_s=None if args.max_time is None else _positive("--max-time", args.max_time),
        processes=args.processes,
        self_check_s=0.0 if args.no_self_check else 5.0,
        seed=args.seed,
        gauges=_gauges(args),
        notes=dict(noted(args.note)),
    )


def targets_of(args: argparse.Namespace, contract: ContractSpec | None) -> tuple[TargetSpec, ...]:
    """One target for each address; flags given once hold for all."""
    count = len(args.targets)
    models = _each("--model", args.model, count, (contract.model if contract else None) or "")
    paths = _each("--path", args.path, count, CHAT_PATH)
    keys = _each("--api-key-env", args.api_key_env, count, "")
    metrics = _each("--metrics-url", args.metrics_url, count, "")
    headers = dict(_header(text) for text in args.header)
    extra = _extra(args.extra)
    made = []
    for index, given in enumerate(args.targets):
        name, url = _named(given, index, count)
        target = TargetSpec(
            name=name, url=url, model=models[index], path=paths[index], headers=headers,
            api_key=_key(keys[index]), extra=extra, metrics_url=metrics[index],
            verify_tls=not args.insecure,
        )  # fmt: skip
        post_head(target)
        made.append(target)
    return tuple(made)


def _gauges(args: argparse.Namespace) -> GaugeSpec:
    urls = tuple(url if "://" in url else f"http://{url}" for url in args.gpu_metrics)
    for url in urls:
        address_of(url)
    return GaugeSpec(gpu_urls=urls, local_gpus=False if args.no_local_gpu else None)


def _named(given: str, index: int, count: int) -> tuple[str, str]:
    name, equals, url = given.partition("=")
    if not equals or "/" in name:
        name, url = "target" if count == 1 else f"target{index + 1}", given
    if "://" not in url:
        url = f"http://{url}"
    address_of(url)
    return name, url


def _each(flag: str, given: Sequence[str] | None, count: int, default: str) -> list[str]:
    if not given:
        return [default] * count
    if len(given) not in (1, count):
        raise FieldError(flag, " ".join(given), f"given once, or {count} times (as the URLs)")
    return list(given) * (count if len(given) == 1 else 1)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise FieldError("--header", text, "NAME:VALUE")
    return name.strip(), value.strip()


def _key(variable: str) -> str:
    if not variable:
        return ""
    if variable not in os.environ:
        raise FieldError("--api-key-env", variable, "the name of a variable that is set")
    return os.environ[variable]


def _extra(text: str | None) -> dict[str, msgspec.Raw]:
    if text is None:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        raise FieldError("--extra", text, 'a JSON object, as {"temperature": 0}') from None


def _window(args: argparse.Namespace) -> WindowSpec:
    duration_s = args.duration
    if duration_s is None and args.requests is None:
        duration_s = 30.0
    if args.requests is not None and args.requests < 1:
        raise FieldError("--requests", args.requests, "1 or more")
    if args.warmup < 0:
        raise FieldError("--warmup", args.warmup, "seconds, 0 or more")
    if duration_s is not None:
        _positive("--duration", duration_s)
    return WindowSpec(warmup_s=args.warmup, duration_s=duration_s, requests=args.requests)


def _workload(
    args: argparse.Namespace, contract: ContractSpec | None, trace: list[TraceRow]
) -> WorkloadSpec:
    defaults = WorkloadSpec()
    asked, answer = defaults.input, defaults.output
    if contract is not None:
        asked = LengthSpec(contract.mean_input_tokens)
        answer = LengthSpec(contract.output_tokens) if contract.output_tokens else answer
    if args.input_tokens is not None:
        asked = parse_length("--input-tokens", args.input_tokens)
    if args.output_tokens is not None:
        answer = parse_length("--output-tokens", args.output_tokens)
    dataset: list[DatasetRow] = []
    if args.dataset is not None:
        dataset = read_dataset(_bytes("--dataset", args.dataset), name=str(args.dataset))
    return WorkloadSpec(
        input=asked,
        output=answer,
        language=Language(args.text or "en"),
        shared_share=args.shared_prefix,
        rag=None if args.rag is None else _rag(args.rag),
        turns=args.turns,
        unique=not args.repeat_prompts,
        force_output=not (args.free_length or dataset),
        seed=args.seed,
        dataset=dataset,
        trace=trace,
    )


def _rag(text: str) -> RagSpec:
    try:
        numbers = [parse_tokens(part) for part in text.split(":")]
        spec = RagSpec(*numbers) if len(numbers) <= 3 else None
    except ValueError:
        spec = None
    if spec is None or spec.chunks < 1:
        raise FieldError("--rag", text, "CHUNKS, CHUNKS:SYSTEM or CHUNKS:SYSTEM:QUESTION")
    return spec


def _trace(args: argparse.Namespace) -> list[TraceRow]:
    if args.trace is None:
        return []
    speed = _positive("--trace-speed", args.trace_speed)
    lines = _bytes("--trace", args.trace).splitlines()
    return read_trace(lines, name=str(args.trace), speed=speed)


def _refuse_both(args: argparse.Namespace, trace: list[TraceRow]) -> None:
    given = [("--levels", args.levels), ("--rate", args.rate), ("--trace", trace)]
    named = [flag for flag, value in given if value]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)}: a run has one kind of load")


def _slo(args: argparse.Namespace, contract: ContractSpec | None) -> SloSpec | None:
    if not 0 < args.attainment <= 1:
        raise FieldError("--attainment", args.attainment, "a share above 0, at most 1")
    if args.slo is not None:
        slo = parse_slo(args.slo, attainment=args.attainment)
    elif contract is not None:
        slo = contract_slo(contract)
    else:
        return None
    forced = not (args.free_length or args.dataset)
    return msgspec.structs.replace(slo, forced_length=forced)


def _contract(args: argparse.Namespace) -> ContractSpec | None:
    if args.contract is None:
        return None
    from proa.config.contract import read_contract

    return read_contract(args.contract)


def _numbers(flag: str, text: str, kind: Callable[[str], T], accepted: str) -> tuple[T, ...]:
    try:
        found = [kind(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    bad: Any = [number for number in found if not number > 0]  # type: ignore[operator]
    if not found or bad:
        raise FieldError(flag, text, accepted)
    return tuple(dict.fromkeys(found))


def _positive(flag: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise FieldError(flag, value, "a number above 0")
    return value


def _bytes(flag: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FieldError(flag, str(path), f"a file that can be read ({error.strerror})") from None
