"""A report's document → the page that Markdown and HTML are printed from, the verdict first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proa.bench.keep.kept import Kept
from proa.bench.keep.run_file import KIND
from proa.cli.bench import report_sections as parts
from proa.cli.bench.measurement_page import VERDICTS, measurement_page
from proa.cli.bench.tables import NONE, number
from proa.cli.page.blocks import Page, Section
from proa.cli.texts import Texts

Document = Mapping[str, Any]


def page_of(report: Document, runs: Sequence[Kept], texts: Texts, *, is_html: bool = False) -> Page:
    """The whole page; pictures are only in HTML."""
    if runs[0].kind != KIND:
        return measurement_page(runs, texts)
    sections: list[Section] = []
    if is_html and len(runs) > 1:
        sections += _overlaid(report["runs"], texts)
    for told, kept in zip(report["runs"], runs, strict=True):
        name = texts.say("run_of", file=told["file"]) if len(runs) > 1 else ""
        sections += _sections(told, kept, texts, name, is_html)
    first = report["runs"][0]
    title = (
        texts.say("title", model=parts.models(first))
        if len(runs) == 1
        else texts.say("title_many", runs=len(runs))
    )
    return Page(
        language=texts.language,
        title=title,
        status=_status_told(report, texts),
        lead=tuple(_lead(first, texts)) if len(runs) == 1 else tuple(_leads(report, texts)),
        sections=tuple(sections),
    )


def status(report: Document) -> str:
    """Of the contract where there is one, else of the SLO; the worst of all runs."""
    if report["runs"][0]["kind"] != KIND:
        return VERDICTS.get(report["runs"][0].get("verdict", ""), "measured")
    clauses = [told["clause"]["verdict"] for told in report["runs"] if told["clause"]]
    if clauses:
        for verdict, name in (("fail", "fail"), ("not decided", "open")):
            if verdict in clauses:
                return name
        return "pass"
    verdicts = [_kept(told) for told in report["runs"]]
    known = [verdict for verdict in verdicts if verdict is not None]
    if not known:
        return "measured"
    if any(known) and not all(known):
        return "slo_some"
    return "slo_pass" if all(known) else "slo_fail"


def _status_told(report: Document, texts: Texts) -> str:
    kept = sum(_kept(told) is True for told in report["runs"])
    return texts.say(f"status_{status(report)}", kept=kept, runs=len(report["runs"]))


def look(report: Document) -> str:
    """The class of the status: pass, fail or open."""
    looks = {"slo_pass": "pass", "slo_fail": "fail", "slo_some": "open", "measured": "open"}
    return looks.get(status(report), status(report))


def _kept(told: Document) -> bool | None:
    """Whether any level kept the SLO, None without one."""
    verdicts = [level["verdict"] for level in told["levels"]]
    return any(verdict == "pass" for verdict in verdicts) if any(verdicts) else None


def _leads(report: Document, texts: Texts) -> Iterator[tuple[str, str]]:
    for told in report["runs"]:
        few = list(_lead(told, texts))[:3]
        lines = (f"{name}: {value}".replace("\n", ", ") for name, value in few)
        yield told["file"], "\n".join(lines)


def _lead(told: Document, texts: Texts) -> Iterator[tuple[str, str]]:
    if told["clause"]:
        yield texts.say("lead_contract"), parts.mark(told["clause"]["verdict"], texts)
    yield texts.say("lead_verdict"), _verdict(told, texts)
    boundary = told["boundary"]
    if boundary is not None:
        yield texts.say("lead_boundary"), parts.boundary_told(boundary, texts)
    best = _best(told)
    if best is None:
        return
    at = texts.say("at_load", load=parts.load_name(best, texts))
    speed, ttft = best["user_tokens_per_s"], best["ttft_s"]
    fast = [texts.say("speed_told", value=number(speed["p50"]))]
    if speed["p05"] is not None:
        fast.append(texts.say("speed_least", low=number(speed["p05"])))
    yield texts.say("lead_speed"), "\n".join((*fast, at))
    first = [texts.say("ttft_told", p50=_seconds(ttft["p50"]))]
    if ttft["p95"] is not None:
        first.insert(0, texts.say("ttft_most", p95=_seconds(ttft["p95"])))
    yield texts.say("lead_ttft"), "\n".join((*first, at))
    most = max((level["aggregate_tokens_per_s"] or 0.0 for level in told["levels"]), default=0.0)
    yield texts.say("lead_aggregate"), texts.say("aggregate_told", value=number(most))
    yield texts.say("lead_client"), texts.say(told["client"]["verdict"])


def _verdict(told: Document, texts: Texts) -> str:
    if not told["levels"]:
        return texts.say("no_levels")
    by_load = parts.by_load(told["levels"])
    if all(level["verdict"] is None for level in told["levels"]):
        return texts.say("no_slo")
    passing = [own for own in by_load if all(level["verdict"] == "pass" for level in own)]
    failing = [own for own in by_load if any(level["verdict"] == "fail" for level in own)]
    lines = []
    if passing:
        lines.append(texts.say("keeps", load=parts.load_name(passing[-1][0], texts)))
    else:
        lines.append(texts.say("keeps_none"))
    if not failing:
        lines.append(texts.say("keeps_all"))
    elif passing:
        lines.append(texts.say("keeps_not", load=parts.load_name(failing[0][0], texts)))
    return "\n".join(lines)


def _best(told: Document) -> Document | None:
    """The highest load that keeps the SLO; without one, the lowest that was measured."""
    ordered = [level for own in parts.by_load(told["levels"]) for level in own]
    passing = [level for level in ordered if level["verdict"] == "pass"]
    return passing[-1] if passing else next(iter(ordered), None)


def _seconds(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.2f} s"


def _overlaid(runs: Sequence[Document], texts: Texts) -> list[Section]:
    from proa.cli.bench.overlay import overlaid

    blocks = tuple(overlaid(runs, texts))
    return [Section(texts.say("section_overlaid"), blocks)] if blocks else []


def _sections(
    told: Document, kept: Kept, texts: Texts, name: str, is_html: bool
) -> Iterator[Section]:
    from proa.cli.bench import pictures as draw

    def titled(key: str, blocks: Sequence[Any]) -> Iterator[Section]:
        if blocks:
            yield Section(name + texts.say(f"section_{key}"), tuple(blocks))

    yield from titled("verdict", parts.verdict(told, texts))
    yield from titled("clause", parts.clause(told, texts))
    yield from titled("levels", parts.levels(told, texts))
    if is_html and told["levels"]:
        yield from titled("curves", draw.curves(told, texts))
        yield from titled("gauges", draw.gauges(told, texts))
        yield from titled("violins", draw.violins(kept.result, told, texts))
        yield from titled("time", draw.over_time(kept.result, texts))
    yield from titled("client", parts.client(told, texts))
    yield from titled("conditions", parts.conditions(told, texts))
    yield from titled("raw", parts.raw(kept, texts))
