"""One start told to a person: the memory of a GPU line by line, what it holds, what is unsure."""

from collections.abc import Iterator

from proa.cli.fit.answer import FitAnswer
from proa.cli.fit.log import engine_lines
from proa.cli.page.blocks import Bullets, Code, Grid, Page, Prose, Section
from proa.cli.texts import Texts
from proa.planner.fit.spec import FitPlan, MemoryLine


def fit_page(told: FitAnswer, texts: Texts) -> Page:
    """The page, whatever it is printed as."""
    plan, asked = told.plan, told.asked
    sections = [
        Section(texts.say("memory"), (_memory(told, texts), Prose(texts.say("units")))),
        Section(texts.say("log"), (Code("\n".join(engine_lines(plan, asked.spec))),)),
    ]
    language = texts.language
    remarks = [texts.say("doubt", text=doubt.say(language)) for doubt in plan.doubts]
    remarks += [warning.say(language) for warning in plan.warnings]
    if remarks:
        sections.append(Section(texts.say("remarks"), (Bullets(tuple(remarks), warns=True),)))
    return Page(
        language=texts.language,
        title=_title(told, texts),
        status=texts.say("fits" if plan.fits else "fits_not"),
        lead=tuple(_lead(told, texts)),
        sections=tuple(sections),
    )


def _title(told: FitAnswer, texts: Texts) -> str:
    spec = told.asked.spec
    return texts.say(
        "title",
        model=spec.llm.id,
        gpus=spec.layout.gpus,
        gpu=spec.gpu.name,
        engine=f"{spec.engine} {told.plan.engine_version}".strip(),
    )


def _lead(told: FitAnswer, texts: Texts) -> Iterator[tuple[str, str]]:
    plan, asked = told.plan, told.asked
    if plan.fits:
        yield texts.say("holds"), texts.say("tokens", count=f"{plan.plannable_tokens:,}")
        if plan.kv_cache_tokens != plan.plannable_tokens:
            yield texts.say("prints"), texts.say("tokens", count=f"{plan.kv_cache_tokens:,}")
        yield (
            texts.say("at_once"),
            texts.say(
                "sequences", count=f"{plan.max_concurrency:,.2f}", length=f"{plan.max_model_len:,}"
            ),
        )
    else:
        missing = told.missing_bytes or 0
        yield texts.say("missing"), both_units(missing) if missing else texts.say("too_near")
        longest = told.longest_max_model_len
        key = "longest" if longest else "longest_none"
        yield texts.say("would_fit"), texts.say(key, count=f"{longest or 0:,}")
    if plan.kv_bytes_per_token:
        yield texts.say("per_token"), f"{plan.kv_bytes_per_token:,.0f} B"
    if asked.replicas > 1:
        yield texts.say("replicas"), texts.say("each", count=asked.replicas)
    key = "calibrated" if told.calibrated_by else "uncertain" if plan.uncertain else "profile"
    yield texts.say("basis"), texts.say(key, name=told.calibrated_by or plan.profile)


def both_units(count: float) -> str:
    """`98.70 GB = 91.92 GiB`."""
    return f"{count / 10**9:,.2f} GB = {count / 2**30:,.2f} GiB"


def _memory(told: FitAnswer, texts: Texts) -> Grid:
    plan = told.plan
    rows = [
        _row(texts.say("gpu_memory"), plan.gpu_bytes, texts.say("driver")),
        _row(texts.say("requested"), plan.requested_bytes, _percent(plan)),
    ]
    rows += [_line(line, texts) for line in plan.lines]
    return Grid(
        head=(texts.say("part"), "GiB", "GB", texts.say("source")),
        rows=tuple(rows),
        right=frozenset((1, 2)),
    )


def _row(name: str, count: int, source: str) -> tuple[str, ...]:
    return name, f"{count / 2**30:,.2f}", f"{count / 10**9:,.2f}", source


def _percent(plan: FitPlan) -> str:
    return f"{plan.requested_bytes / plan.gpu_bytes * 100:.1f} %"


def _line(line: MemoryLine, texts: Texts) -> tuple[str, ...]:
    name = _named(line.name, texts)
    inside = texts.say("inside", name=_named(line.inside, texts)) if line.inside else ""
    if line.bytes is None:
        return f"  {name}", "", "", inside
    return _row(f"  {name}", line.bytes, inside or line.source.say(texts.language))


def _named(name: str, texts: Texts) -> str:
    return texts.say(f"line_{name}")
