"""The sections of a measurement's report, out of its document."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from proa.bench.keep.kept import Kept
from proa.cli.bench.phrases import bound_told, load_told, reason_told, remark_told
from proa.cli.bench.tables import NONE, number, percent
from proa.cli.page.blocks import Block, Bullets, Code, Grid, Prose
from proa.cli.texts import Texts

Document = Mapping[str, Any]
_MILLI = 1e3
_NUMBER = re.compile(r"\d[\d.,]*%?")
_HALF_A_PER_MILLE = 0.0005
_LEVEL_COLUMNS = ("load", "requests", "errors", "ttft_p50", "ttft_p95", "itl", "tpot", "speed",
                  "speed_p05", "e2e", "aggregate", "attainment", "slo", "client")  # fmt: skip
_CLIENT_COLUMNS = ("visit", "load", "client", "clock", "delay", "lag", "cpu", "runqueue",
                   "lateness", "asked", "achieved", "reads")  # fmt: skip


def load_name(level: Document, texts: Texts) -> str:
    """`24 users`, a rate, or the trace."""
    return load_told(level["users"], level["rate"], texts)


def by_load(levels: Sequence[Document]) -> list[list[Document]]:
    """Visits of one load together, the lowest load first."""
    ordered = sorted(levels, key=_load)
    return [list(own) for _, own in groupby(ordered, key=_load)]


def _load(level: Document) -> float:
    return float(level["users"] or level["rate"] or 0.0)


def models(told: Document) -> str:
    """The names of all models that were asked."""
    return ", ".join(dict.fromkeys(target["model"] for target in told["conditions"]["targets"]))


def mark(verdict: str, texts: Texts) -> str:
    """`✓ pass`, as it stands in tables."""
    return texts.say({"pass": "mark_pass", "fail": "mark_fail"}.get(verdict, "mark_open"))


def boundary_told(boundary: Document, texts: Texts) -> str:
    """The estimate with its interval, for the lead."""
    if boundary["estimate"] is None:
        return texts.say("boundary_open")
    return texts.say(
        "boundary_told",
        estimate=_at(boundary["estimate"], boundary, texts),
        **_ends(boundary, texts),
    )


def _at(load: float, boundary: Document, texts: Texts) -> str:
    """A load of the boundary with its unit."""
    is_rate = boundary["of"] == "rate"
    return load_told(None if is_rate else round(load), load if is_rate else None, texts)


def _ends(boundary: Document, texts: Texts) -> dict[str, Any]:
    high = boundary["high"]
    return {
        "confidence": boundary["confidence"],
        "low": f"{boundary['low']:g}",
        "high": texts.say("unbounded") if high is None else _at(high, boundary, texts),
    }


def verdict(told: Document, texts: Texts) -> list[Block]:
    """What was asked, where the boundary is, and why there."""
    blocks: list[Block] = []
    if told["stopped"] is not None:
        blocks.append(Bullets((texts.say(f"stopped_{told['stopped']}"),), warns=True))
    invalid = [each for each in told["levels"] if each["client"]["verdict"] == "invalid"]
    if invalid:
        visits = ", ".join(str(level["visit"] + 1) for level in invalid)
        blocks.append(Bullets((texts.say("client_warning", visits=visits),), warns=True))
    slo = told["conditions"]["slo"]
    if slo is not None:
        key = "sentence_mean" if slo["rule"] == "mean" else "sentence_slo"
        asked = texts.say(
            key,
            attainment=slo["attainment"],
            bounds=", ".join(bound_told(bound, texts) for bound in slo["bounds"]),
        )
        blocks.append(Prose(asked))
    if told["boundary"] is not None:
        blocks.append(Prose(_boundary(told["boundary"], texts), strong=True))
    return blocks + _reasons(told["reasons"], texts)


def _boundary(boundary: Document, texts: Texts) -> str:
    both = boundary["passes"] is not None and boundary["fails"] is not None
    if both and boundary["estimate"] is not None:
        return texts.say(
            "boundary_sentence",
            passes=_at(boundary["passes"], boundary, texts),
            fails=_at(boundary["fails"], boundary, texts),
            estimate=_at(boundary["estimate"], boundary, texts),
            **_ends(boundary, texts),
        )
    if boundary["decided"] and boundary["estimate"] is not None:
        estimate = _at(boundary["estimate"], boundary, texts)
        return texts.say("boundary_sentence_short", estimate=estimate, **_ends(boundary, texts))
    ends, key = _ends(boundary, texts), "boundary_sentence_open"
    if boundary["high"] is None:
        ends, key = ends | {"low": _at(boundary["low"], boundary, texts)}, "boundary_sentence_above"
    sentence = texts.say(key, **ends)
    more, minutes = boundary.get("more_requests"), boundary.get("more_minutes")
    if more is None or minutes is None:
        return sentence
    return f"{sentence} {texts.say('boundary_more', requests=more, minutes=minutes)}"


def _reasons(reasons: Sequence[Document], texts: Texts) -> list[Block]:
    if not reasons:
        return []
    key = "reason_over" if reasons[0]["is_over"] else "reason_highest"
    said = texts.say(key, load=load_name(reasons[0], texts))
    items = tuple(reason_told(reason["limit"], reason["evidence"], texts) for reason in reasons)
    return [Prose(said), Bullets(items)]


def clause(told: Document, texts: Texts) -> list[Block]:
    """The clause's parts: promised, measured, on which basis, and whether it holds."""
    if not told["clause"]:
        return []
    head = tuple(
        texts.say(f"clause_{name}") for name in ("part", "promised", "measured", "basis", "verdict")
    )
    rows = tuple(_clause_row(row, texts) for row in told["clause"]["rows"])
    return [Grid(head, rows), Prose(texts.say("clause_note"))]


def _clause_row(row: Document, texts: Texts) -> tuple[str, ...]:
    part = row["part"]
    basis = []
    if row["users"] is not None:
        asked = {"requests": row["requests"], "users": row["users"]}
        basis.append(texts.say("basis_requests", **asked))
    if row["more_requests"] is not None:
        basis.append(texts.say("basis_more", more=row["more_requests"]))
    return (
        texts.say(f"part_{part}"),
        _promised(row, texts),
        _measured(row, texts),
        "; ".join(basis),
        mark(row["verdict"], texts),
    )


def _promised(row: Document, texts: Texts) -> str:
    part, value = row["part"], row["promised"]
    if part == "client":
        return texts.say(str(value))
    if part in ("user_tokens_per_s", "ttft_s"):
        key = "promised_speed" if part == "user_tokens_per_s" else "promised_ttft"
        what = texts.say(key, value=f"{value:g}")
        if row["needed"] is None:
            return texts.say("promised_mean", what=what)
        return texts.say("promised_share", what=what, share=row["needed"])
    if part == "together":
        return NONE if row["needed"] is None else f"{row['needed']:.0%}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _measured(row: Document, texts: Texts) -> str:
    part, value = row["part"], row["measured"]
    if part == "client":
        return texts.say(str(value))
    if part == "sessions":
        return texts.say("measured_most", value=value)
    if part in ("input_tokens", "output_tokens"):
        return number(value, 0)
    if part == "model":
        return str(value)
    lines = []
    if value is not None and part == "user_tokens_per_s":
        lines.append(texts.say("measured_mean", value=number(value)))
    if row["share"] is not None:
        lines.append(texts.say("measured_share", share=row["share"]))
    return ", ".join(lines) or NONE


def levels(told: Document, texts: Texts) -> list[Block]:
    """A row for each visit, then what must be known beside them."""
    head = tuple(texts.say(f"column_{name}") for name in _LEVEL_COLUMNS)
    ordered = [level for own in by_load(told["levels"]) for level in own]
    rows = tuple(_level_row(level, texts) for level in ordered)
    blocks: list[Block] = [Grid(head, rows, right=frozenset(range(1, 12)))]
    notes = [texts.say("levels_note")]
    if told["drift"] is not None:
        notes.append(texts.say("drift_note", drift=_drift(told)))
    if told["hinge"] is not None:
        notes.append(_hinge(told["hinge"], texts))
    warnings = list(_warnings(told["levels"], texts))
    if warnings:
        return [*blocks, *map(Prose, notes), Bullets(tuple(warnings), warns=True)]
    return [*blocks, *map(Prose, notes)]


def _drift(told: Document) -> str:
    change = told["drift"]
    shown = "0.0%" if abs(change) < _HALF_A_PER_MILLE else f"{change:+.1%}"
    ends = told["drift_interval"]
    return shown if ends is None else f"{shown} (95%: {ends[0]:+.1%} … {ends[1]:+.1%})"


def _hinge(hinge: Document, texts: Texts) -> str:
    knee = ""
    if hinge["c_s"]:
        knee = texts.say("hinge_knee", c=hinge["c_s"] * _MILLI, knee=hinge["knee_users"])
    return texts.say("hinge_note", a=hinge["a_s"] * _MILLI, b=hinge["b_s"] * _MILLI, knee=knee)


def _level_row(level: Document, texts: Texts) -> tuple[str, ...]:
    speed = level["user_tokens_per_s"]
    return (
        f"{level['visit'] + 1}. {load_name(level, texts)}",
        f"{level['requests']:,}",
        f"{level['errors']:,}",
        number(level["ttft_s"]["p50"], 0, _MILLI),
        number(level["ttft_s"]["p95"], 0, _MILLI),
        number(level["itl_s"]["mean"], 1, _MILLI),
        number(level["tpot_s"]["p50"], 1, _MILLI),
        number(speed["p50"]),
        number(speed["p05"]),
        number(level["user_tokens_per_s_e2e"]["p50"]),
        number(level["aggregate_tokens_per_s"]),
        percent(level["attainment"]),
        NONE if level["verdict"] is None else mark(level["verdict"], texts),
        texts.say(level["client"]["verdict"]),
    )


def _warnings(levels: Sequence[Document], texts: Texts) -> Iterator[str]:
    """A warning of several visits is told once, with the numbers of the others behind it."""
    seen: dict[str, list[tuple[str, str]]] = {}
    for level in levels:
        for each in level["warnings"]:
            text = remark_told(each["code"], each["values"], texts)
            seen.setdefault(each["code"], []).append((str(level["visit"] + 1), text))
    for own in seen.values():
        visits = ", ".join(visit for visit, _ in own)
        first, *others = dict.fromkeys(text for _, text in own)
        numbers = (_NUMBER.search(text) for text in others)
        more = ", ".join(found[0] for found in numbers if found is not None)
        yield texts.say("reason_row", visit=visits, text=f"{first} ({more})" if more else first)


def client(told: Document, texts: Texts) -> list[Block]:
    """Whether the client was the limit, with what it measured of itself."""
    found = told["client"]
    blocks: list[Block] = [Prose(texts.say(f"client_sentence_{found['verdict']}"), strong=True)]
    check = found["self_check"]
    if check is not None and check["stamp_delay_p99_s"] is not None:
        blocks.append(
            Prose(
                texts.say(
                    "self_check",
                    users=check["users"],
                    processes=check["processes"],
                    events=check["events_per_s"],
                    delay=check["stamp_delay_p99_s"] * _MILLI,
                    verdict=texts.say(check["verdict"]),
                )
            )
        )
    head = tuple(texts.say(f"column_{name}") for name in _CLIENT_COLUMNS)
    rows = tuple(_client_row(level, texts) for level in told["levels"])
    blocks.append(Grid(head, rows, right=frozenset(range(4, 12))))
    reasons = tuple(
        texts.say("reason_row", visit=level["visit"] + 1, text=_joined(level, texts))
        for level in told["levels"]
        if level["client"]["reasons"]
    )
    return [*blocks, *([Bullets(reasons, warns=True)] if reasons else [])]


def _joined(level: Document, texts: Texts) -> str:
    reasons = level["client"]["reasons"]
    return "; ".join(remark_told(each["code"], each["values"], texts) for each in reasons)


def _client_row(level: Document, texts: Texts) -> tuple[str, ...]:
    told = level["client"]
    return (
        str(level["visit"] + 1),
        load_name(level, texts),
        texts.say(told["verdict"]),
        texts.say(f"clock_{told['clock']}"),
        number(told["stamp_delay_p99_s"], 2, _MILLI),
        number(told["loop_lag_p99_s"], 2, _MILLI),
        percent(told["cpu_share"], 0),
        percent(told["runqueue_share"], 0),
        number(told["send_lateness_p99_s"], 2, _MILLI),
        number(told["asked"], 1),
        number(told["achieved"], 1),
        number(told["reads_per_event"], 2),
    )


def conditions(told: Document, texts: Texts) -> list[Block]:
    """Who served, with what, under which load, and who measured."""
    rows = tuple((name, value) for name, value in _conditions(told["conditions"], texts))
    return [Grid(("", ""), rows)]


def _conditions(found: Document, texts: Texts) -> Iterator[tuple[str, str]]:
    unknown = texts.say("not_told")
    started = datetime.fromtimestamp(found["started_unix_s"], UTC)
    yield texts.say("condition_started"), f"{started:%Y-%m-%d %H:%M:%S} UTC"
    for target in found["targets"]:
        yield texts.say("condition_model"), target["model"]
        yield texts.say("condition_target"), f"{target['url']}{target['path']}"
    for engine in found["engines"]:
        told = f"{engine['kind']} {engine['version']}".strip() or unknown
        yield texts.say("condition_engine"), told
        facts = {
            key: engine[key]
            for key in ("context_tokens", "max_running", "kv_tokens")
            if engine[key] is not None
        } | engine["flags"]
        if facts:
            joined = ", ".join(f"{key}={value}" for key, value in facts.items())
            yield texts.say("condition_engine_flags"), joined
    for gpu in found["gpus"]:
        yield texts.say("condition_gpu"), _gpu(gpu)
    if not found["gpus"]:
        yield texts.say("condition_gpu"), unknown
    for name, value in found["notes"].items():
        yield texts.say("condition_notes", name=name), value
    yield texts.say("condition_workload"), _workload(found["workload"], texts)
    yield texts.say("condition_window"), _window(found["window"], texts)
    yield texts.say("condition_order"), found["order"]
    yield texts.say("condition_seed"), str(found["seed"])
    yield texts.say("condition_prompts"), found["prompts_hash"]
    names = ("python", "system")
    client = ", ".join([f"proa {found['proa']}", *(found[name] for name in names)])
    yield texts.say("condition_client"), f"{client}, CPU {found['client_cpus']}"


def _gpu(gpu: Document) -> str:
    told = [gpu["name"] or f"GPU {gpu['index']}"]
    if gpu["memory_total_bytes"] is not None:
        told.append(f"{gpu['memory_total_bytes'] / 2**30:.1f} GiB")
    if gpu["power_limit_w"] is not None:
        told.append(f"{gpu['power_limit_w']:.0f} W")
    if gpu["driver"]:
        told.append(f"driver {gpu['driver']}")
    return ", ".join(told)


def _workload(workload: Document, texts: Texts) -> str:
    if workload["trace_rows"]:
        return texts.say("workload_trace", rows=workload["trace_rows"])
    if workload["dataset_rows"]:
        return texts.say("workload_dataset", rows=workload["dataset_rows"])
    unique = "workload_unique" if workload["unique"] else "workload_repeated"
    return texts.say(
        "workload_told",
        input=_length(workload["input"]),
        output=_length(workload["output"]),
        language=workload["language"],
        unique=texts.say(unique),
    )


def _length(length: Document) -> str:
    told = f"{length['mean']:,}"
    if length["law"] == "fixed":
        return told
    return f"{told} ± {length['deviation']:,} ({length['law']})"


def _window(window: Document, texts: Texts) -> str:
    enough = []
    if window["duration_s"] is not None:
        enough.append(texts.say("window_seconds", seconds=window["duration_s"]))
    if window["requests"] is not None:
        enough.append(texts.say("window_requests", requests=window["requests"]))
    return texts.say("window_told", warmup=window["warmup_s"], enough=" / ".join(enough) or NONE)


def raw(kept: Kept, texts: Texts) -> list[Block]:
    """Where the numbers come from, and how they are checked."""
    name = kept.path.name
    told = texts.say(
        "raw_answers" if kept.kind == "quality" else "raw_told",
        file=name,
        requests=f"{kept.rows:,}",
        size=f"{kept.size_bytes / 1e6:.1f} MB",
        digest=kept.sha256,
    )
    return [
        Prose(told),
        Prose(texts.say("raw_verify")),
        Code(f"proa bench verify REPORT.html {name}"),
        Prose(texts.say("raw_export")),
        Code(f"proa bench report {name} --format csv --table requests > requests.csv"),
    ]
