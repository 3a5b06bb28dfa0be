"""A comparison as a page: the verdict, the shifts, and what speaks against them."""

from collections.abc import Iterator

from proa.bench.compare.run import CompareResult
from proa.bench.compare.verdict import CompareStats, MarginTest, Verdict, compare_stats
from proa.bench.statistics.hodges_lehmann import ShiftStats
from proa.cli.bench.tables import grid, interval, number, percent, signed
from proa.cli.page.blocks import Bullets, Page, Prose, Section
from proa.cli.texts import Texts

_MICRO, _MILLI = 1e6, 1e3
_BUSY = 0.1


def page_of(result: CompareResult, texts: Texts) -> Page:
    """The verdict first; `-` is "not measured", or too few pairs for it."""
    stats = compare_stats(result)
    verdict = texts.say(f"verdict_{stats.verdict}", pairs=stats.pairs)
    models = dict.fromkeys(load.target.model for load in result.start.targets)
    return Page(
        language=texts.language,
        title=texts.say("title", model=", ".join(models)),
        status=texts.say(f"status_{stats.verdict}"),
        lead=tuple(_lead(stats, texts)),
        sections=(
            Section(texts.say("section_verdict"), (Prose(verdict, strong=True),)),
            Section(texts.say("added"), (grid(_added(stats, texts)),)),
            Section(texts.say("by_length"), (grid(_lengths(stats, texts)),)),
            Section(texts.say("notes"), (Bullets(tuple(_notes(result, stats, texts))),)),
        ),
    )


def _lead(stats: CompareStats, texts: Texts) -> Iterator[tuple[str, str]]:
    for name, found, digits in (("ttft", stats.ttft_s, 0), ("per_token", stats.tpot_s, 2)):
        ends = interval(found.low, found.high, digits, _MICRO)
        shift = signed(found.estimate, digits, _MICRO)
        yield texts.say(name), texts.say("lead_shift", shift=shift, interval=ends)
    yield texts.say("column_pairs"), f"{stats.pairs}"


def _added(stats: CompareStats, texts: Texts) -> list[list[str]]:
    rows = [[texts.say(f"column_{name}") for name in ("what", "shift", "interval", "n")]]
    rows.append(_shift_row(texts.say("ttft"), stats.ttft_s))
    rows.append(_shift_row(texts.say("per_token"), stats.tpot_s, 2))
    if stats.line is not None:
        rows.append(_shift_row(texts.say("line_request"), stats.line.per_request_s))
        rows.append(_shift_row(texts.say("line_token"), stats.line.per_token_s, 2))
    return rows


def _shift_row(name: str, found: ShiftStats, digits: int = 0) -> list[str]:
    ends = interval(found.low, found.high, digits, _MICRO)
    return [name, signed(found.estimate, digits, _MICRO), ends, f"{found.n}"]


def _lengths(stats: CompareStats, texts: Texts) -> list[list[str]]:
    names = ("tokens", "pairs", "failures", "output", "ttft", "tpot", "total", "added_total",
             "interval")  # fmt: skip
    rows = [[texts.say(f"column_{name}") for name in names]]
    for one in stats.lengths:
        sides = (one.direct, one.gateway)
        rows.append(
            [
                f"{one.tokens}",
                f"{one.pairs}",
                _both([f"{side.failures}" for side in sides]),
                _both([number(side.output_tokens, 0) for side in sides]),
                _both([number(side.ttft_s, 2, _MILLI) for side in sides]),
                _both([number(side.tpot_s, 3, _MILLI) for side in sides]),
                _both([number(side.e2e_s, 1, _MILLI) for side in sides]),
                signed(one.e2e_s.estimate, 0, _MICRO),
                interval(one.e2e_s.low, one.e2e_s.high, 0, _MICRO),
            ]
        )
    return rows


def _both(cells: list[str]) -> str:
    return " / ".join(cells)


def _notes(result: CompareResult, stats: CompareStats, texts: Texts) -> list[str]:
    notes = [_margin(test, texts) for test in stats.margins]
    flow = stats.buffering
    notes += [texts.say(f"sign_{sign}") for sign in flow.signs]
    notes.append(
        texts.say(
            "reads",
            direct=number(flow.direct.reads_per_event, 2),
            gateway=number(flow.gateway.reads_per_event, 2),
        )
    )
    if flow.direct.bunched_share is not None:
        shares = percent(flow.direct.bunched_share), percent(flow.gateway.bunched_share)
        notes.append(texts.say("bunched", direct=shares[0], gateway=shares[1]))
    notes += [texts.say("unequal", tokens=length) for length in stats.unequal_lengths]
    notes += _lengths_asked(stats, texts)
    order = stats.order_s
    if order.low is not None and order.high is not None and (order.low > 0 or order.high < 0):
        notes.append(texts.say("order", shift=signed(order.estimate, 0, _MICRO)))
    for name, count in zip(("direct", "gateway"), result.end.reopened, strict=True):
        if count:
            notes.append(texts.say("reopened", side=name, count=count))
    end = result.end
    if end.runqueue_share is not None and end.runqueue_share > _BUSY:
        notes.append(texts.say("busy", share=percent(end.runqueue_share, 0)))
    notes.append(texts.say(f"stopped_{end.stopped}", seconds=number(end.took_s, 0)))
    return notes


def _margin(test: MarginTest, texts: Texts) -> str:
    return texts.say(
        "margin",
        metric=texts.say("ttft" if test.metric == "ttft_s" else "per_token"),
        margin=number(test.margin_s, 0, _MICRO),
        interval=interval(test.shift.low, test.shift.high, 1, _MICRO),
        verdict=texts.say(f"margin_{test.verdict}"),
    )


def _lengths_asked(stats: CompareStats, texts: Texts) -> list[str]:
    """Lengths that neither side gave as they were asked: comparable, and worth knowing."""
    if stats.verdict is Verdict.REFUSED:
        return []
    notes = []
    for one in stats.lengths:
        told = one.gateway.output_tokens
        if told is None and one.pairs:
            notes.append(texts.say("uncounted", tokens=one.tokens))
        elif told is not None and abs(told - one.tokens) > max(1.0, 0.05 * one.tokens):
            notes.append(texts.say("asked", tokens=one.tokens, told=number(told, 0)))
    return notes
