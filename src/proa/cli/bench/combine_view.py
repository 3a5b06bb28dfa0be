"""A combination as text or Markdown: the gains, what each part gave, and each site."""

from proa.bench.combine.document import spreads
from proa.bench.combine.gain import GainStats, PartStats, verdict_of
from proa.bench.combine.run import CombineResult
from proa.bench.combine.sites import SiteStats
from proa.bench.health import Validity, worst
from proa.bench.remark import each_once
from proa.bench.statistics.log_ratio import RatioStats
from proa.cli.bench.phrases import remarks_told
from proa.cli.bench.tables import NONE, heading, interval, number, percent, table
from proa.cli.texts import Texts


def view(
    result: CombineResult, stats: GainStats, sites: list[SiteStats], texts: Texts, *, markdown: bool
) -> str:
    """What standard output gets; `-` is "not measured", or too few blocks for it."""
    spec = result.spec
    found = verdict_of(stats, spec.min_gain)
    verdict = texts.say(f"verdict_{found}", least=number(spec.min_gain, 2), rounds=_rounds(stats))
    parts = [f"**{verdict}**" if markdown else verdict]
    parts += _section("gains", _gains(stats, texts), texts, markdown=markdown)
    parts += _section("parts", _parts(stats, texts), texts, markdown=markdown)
    if spec.sites > 1:
        parts += _section("sites", _sites(sites, texts), texts, markdown=markdown)
    mark = "- " if markdown else ""
    notes = "\n".join(f"{mark}{note}" for note in _notes(result, sites, texts))
    return "\n\n".join([*parts, notes]) + "\n"


def _section(name: str, rows: list[list[str]], texts: Texts, *, markdown: bool) -> list[str]:
    title, body = heading(texts.say(name), markdown=markdown), table(rows, markdown=markdown)
    return [title.rstrip(), body] if markdown else [f"{title}\n{body}"]


def _rounds(stats: GainStats) -> int:
    return stats.over_main.rounds


def _gains(stats: GainStats, texts: Texts) -> list[list[str]]:
    rows = [[texts.say(f"column_{name}") for name in ("gain", "ratio", "interval", "rounds")]]
    rows.append(_gain(texts.say("over_main"), stats.over_main))
    rows.append(_gain(texts.say("of_sum"), stats.of_sum))
    return rows


def _gain(name: str, found: RatioStats) -> list[str]:
    ends = interval(found.low, found.high, 3)
    return [name, number(found.estimate, 3), ends, f"{found.rounds}"]


def _parts(stats: GainStats, texts: Texts) -> list[list[str]]:
    names = ("part", "tokens_per_s", "blocks", "requests", "errors")
    return [[texts.say(f"column_{name}") for name in names], *map(_part, stats.parts)]


def _part(part: PartStats) -> list[str]:
    blocks = " ".join(number(speed) for speed in part.block_tokens_per_s) or NONE
    errors = f"{part.errors} ({percent(part.error_rate)})"
    return [part.name, number(part.tokens_per_s), blocks, f"{part.requests}", errors]


def _sites(sites: list[SiteStats], texts: Texts) -> list[list[str]]:
    names = ("site", "users", "requests", "errors", "user_speed", "deviation", "ttft")
    rows = [[texts.say(f"column_{name}") for name in names]]
    rows += [
        [
            f"{one.part} {one.site}",
            f"{one.users}",
            f"{one.requests}",
            percent(one.error_rate),
            number(one.user_tokens_per_s, 2),
            number(one.deviation, 2),
            number(one.ttft_p95_s, 3),
        ]
        for one in sites
    ]
    return rows


def _notes(result: CombineResult, sites: list[SiteStats], texts: Texts) -> list[str]:
    notes = []
    if result.spec.sites > 1:
        notes += [
            texts.say("spread", part=one.part, variance=number(one.variance, 3),
                      share=percent(one.share))
            for one in spreads(sites)
            if one.variance is not None
        ]  # fmt: skip
    phrases = Texts("bench_report", texts.language)
    clients = [block.stats.client for block in result.blocks]
    verdict = worst(client.verdict for client in clients)
    notes.append(texts.say("client", verdict=texts.say(f"client_{verdict}")))
    if verdict is not Validity.VALID:
        bad = next(client.reasons for client in clients if client.verdict is verdict)
        notes += remarks_told(bad, phrases)
    warnings = each_once(each for block in result.blocks for each in block.stats.warnings)
    notes += remarks_told(warnings, phrases)
    if result.is_interrupted:
        notes.append(texts.say("interrupted", blocks=len(result.blocks)))
    return notes
