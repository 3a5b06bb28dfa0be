"""A combination as a page: the gains, what each part gave, and each site."""

from collections.abc import Iterator

from proa.bench.combine.document import spreads
from proa.bench.combine.gain import GainStats, PartStats, gain_stats, verdict_of
from proa.bench.combine.run import CombineResult
from proa.bench.combine.sites import SiteStats, site_stats
from proa.bench.health import Validity, worst
from proa.bench.remark import each_once
from proa.bench.statistics.log_ratio import RatioStats
from proa.cli.bench.phrases import remarks_told
from proa.cli.bench.tables import NONE, grid, interval, number, percent
from proa.cli.page.blocks import Bullets, Page, Prose, Section
from proa.cli.texts import Texts


def page_of(result: CombineResult, texts: Texts) -> Page:
    """The verdict first; `-` is "not measured", or too few blocks for it."""
    spec = result.start.spec
    stats = gain_stats(result.blocks)
    sites = site_stats(result.blocks, spec.users, spec.sites)
    found = verdict_of(stats, spec.min_gain)
    said = {"least": number(spec.min_gain, 2), "rounds": stats.over_main.rounds}
    sections = [
        Section(
            texts.say("section_verdict"), (Prose(texts.say(f"verdict_{found}", **said), True),)
        ),
        Section(texts.say("gains"), (grid(_gains(stats, texts)),)),
        Section(texts.say("parts"), (grid(_parts(stats, texts)),)),
    ]
    if spec.sites > 1:
        sections.append(Section(texts.say("sites"), (grid(_sites(sites, texts)),)))
    notes = Bullets(tuple(_notes(result, sites, texts)))
    return Page(
        language=texts.language,
        title=texts.say("title"),
        status=texts.say(f"status_{found}"),
        lead=tuple(_lead(stats, texts)),
        sections=(*sections, Section(texts.say("notes"), (notes,))),
    )


def _lead(stats: GainStats, texts: Texts) -> Iterator[tuple[str, str]]:
    for name, found in (("over_main", stats.over_main), ("of_sum", stats.of_sum)):
        ends = interval(found.low, found.high, 2)
        said = texts.say("lead_gain", ratio=number(found.estimate, 2), interval=ends)
        yield texts.say(name), said
    for part in stats.parts:
        yield part.name, texts.say("lead_part", speed=number(part.tokens_per_s))


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
    if result.start.spec.sites > 1:
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
    if result.end.is_interrupted:
        notes.append(texts.say("interrupted", blocks=len(result.blocks)))
    return notes
