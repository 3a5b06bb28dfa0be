"""A comparison of quality as text or Markdown: right answers by group, sameness, sureness."""

from proa.bench.quality.run import QualityResult
from proa.bench.quality.verdict import GroupStats, MatchStats, QualityStats
from proa.cli.bench.tables import NONE, interval, number, percent, signed, table
from proa.cli.texts import Texts

_POINTS = 100


def view(result: QualityResult, stats: QualityStats, texts: Texts, *, markdown: bool) -> str:
    """What standard output gets; `-` is "not measured"."""
    margin = number(result.spec.margin, 1, _POINTS)
    verdict = texts.say(f"verdict_{stats.verdict}", cases=stats.match.pairs, margin=margin)
    parts = [f"**{verdict}**" if markdown else verdict]
    if stats.total.cases:
        parts.append(table(_right(stats, texts), markdown=markdown))
    mark = "- " if markdown else ""
    parts.append("\n".join(f"{mark}{note}" for note in _notes(result, stats, texts)))
    return "\n\n".join(parts) + "\n"


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
    if result.is_interrupted:
        notes.append(texts.say("interrupted", answers=sum(map(len, result.answers.values()))))
    return notes


def _match(found: MatchStats) -> dict[str, object]:
    low, high = percent(found.low), percent(found.high)
    return {"same": found.same, "pairs": found.pairs, "share": percent(found.share)} | {
        "interval": f"{low} … {high}"
    }
