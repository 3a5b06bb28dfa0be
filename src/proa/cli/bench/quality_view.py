"""A comparison of quality as a page: right answers by group, sameness, sureness."""

from collections.abc import Iterator

from proa.bench.quality.run import QualityResult
from proa.bench.quality.verdict import GroupStats, MatchStats, QualityStats, quality_stats
from proa.cli.bench.tables import NONE, grid, interval, number, percent, signed
from proa.cli.page.blocks import Bullets, Page, Prose, Section
from proa.cli.texts import Texts

_POINTS = 100


def page_of(result: QualityResult, texts: Texts) -> Page:
    """The verdict first; `-` is "not measured"."""
    stats = quality_stats(result)
    margin = number(result.start.spec.margin, 1, _POINTS)
    verdict = texts.say(f"verdict_{stats.verdict}", cases=stats.match.pairs, margin=margin)
    sections = [Section(texts.say("section_verdict"), (Prose(verdict, strong=True),))]
    if stats.total.cases:
        sections.append(Section(texts.say("section_right"), (grid(_right(stats, texts)),)))
    notes = Bullets(tuple(_notes(result, stats, texts)))
    return Page(
        language=texts.language,
        title=texts.say("title", a=result.start.targets[0].model, b=result.start.targets[1].model),
        status=texts.say(f"status_{stats.verdict}"),
        lead=tuple(_lead(stats, texts)),
        sections=(*sections, Section(texts.say("notes"), (notes,))),
    )


def _lead(stats: QualityStats, texts: Texts) -> Iterator[tuple[str, str]]:
    total = stats.total
    if total.cases:
        yield texts.say("column_right_a"), f"{total.right_a} / {total.cases}"
        yield texts.say("column_right_b"), f"{total.right_b} / {total.cases}"
    yield texts.say("lead_same"), f"{stats.match.same} / {stats.match.pairs}"


def _right(stats: QualityStats, texts: Texts) -> list[list[str]]:
    names = ("group", "cases", "right_a", "right_b", "only_a", "only_b", "difference",
             "interval", "p")  # fmt: skip
    rows = [[texts.say(f"column_{name}") for name in names]]
    groups = [group for group in stats.groups if group.cases]
    if len(groups) > 1 or (groups and groups[0].group):
        rows += [_row(group.group or NONE, group) for group in groups]
    rows.append(_row(texts.say("total"), stats.total))
    return rows


def _row(name: str, group: GroupStats) -> list[str]:
    found = group.mcnemar
    return [
        name,
        f"{group.cases}",
        f"{group.right_a}",
        f"{group.right_b}",
        f"{found.only_a}",
        f"{found.only_b}",
        signed(found.difference, 1, _POINTS),
        interval(found.low, found.high, 1, _POINTS),
        f"{found.p_value:.3f}",
    ]


def _notes(result: QualityResult, stats: QualityStats, texts: Texts) -> list[str]:
    notes = [texts.say("match", **_match(stats.match))]
    if stats.own_match is not None:
        notes.append(texts.say("own_match", **_match(stats.own_match)))
    else:
        notes.append(texts.say("no_own_match"))
    told = stats.logprobs
    if told is None:
        notes.append(texts.say("no_logprobs"))
    else:
        ends = interval(told.shift.low, told.shift.high, 4)
        notes.append(
            texts.say(
                "logprobs", shift=signed(told.shift.estimate, 4), interval=ends,
                absolute=number(told.absolute, 4), n=told.shift.n,
            )
        )  # fmt: skip
        if told.first_difference is not None:
            notes.append(texts.say("parting", tokens=number(told.first_difference, 0)))
    for key, counts in (("failures", stats.failures), ("cut", stats.cut)):
        notes += [texts.say(key, side=side, count=n) for side, n in counts.items() if n]
    if result.end.is_interrupted:
        notes.append(texts.say("interrupted", answers=sum(map(len, result.answers.values()))))
    return notes


def _match(found: MatchStats) -> dict[str, object]:
    low, high = percent(found.low), percent(found.high)
    return {"same": found.same, "pairs": found.pairs, "share": percent(found.share)} | {
        "interval": f"{low} … {high}"
    }
