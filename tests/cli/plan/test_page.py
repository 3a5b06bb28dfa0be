"""The forms of a plan: text of 100 columns, Markdown, HTML that fetches nothing, CSV."""

import csv
import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from tests.cli.plan.worked import PLACED, answer, flags

from proa.cli.page.blocks import Bullets, Grid, Page, Prose, Section
from proa.cli.page.markdown import markdown_page
from proa.cli.page.plain_text import COLUMNS, text_page, wrapped
from proa.cli.page.svg import axis
from proa.cli.plan.plots import MemoryBar, SpeedPoint, memory_plot, speed_plot
from proa.cli.texts import columns

PRICED = PLACED | {"tariff": "120원", "gpu_price": "4500만원", "cloud_price_per_hour": "$3"}
PRICED |= {"exchange_rate": 1350}
VOID = {"meta", "br", "line", "rect", "circle", "polyline"}


class Nesting(HTMLParser):
    """Open tags, and every address that the page names."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.faults.append(tag)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_text_fits_100_columns(capsys: pytest.CaptureFixture[str], language: str) -> None:
    text = answer(capsys, *flags(PRICED), "--lang", language, form="text")
    commands = [line for line in text.splitlines() if line.startswith("    ")]
    wide = [line for line in text.splitlines() if columns(line) > COLUMNS]
    assert [line for line in wide if line not in commands] == []
    assert ("동시" in text) == (language == "ko")


@pytest.mark.parametrize("language", ["ko", "en"])
def test_html_is_whole_and_fetches_nothing(
    capsys: pytest.CaptureFixture[str], language: str
) -> None:
    html = answer(capsys, *flags(PRICED), "--lang", language, form="html")
    assert len(html.encode()) < 500_000
    parser = Nesting()
    parser.feed(html)
    assert (parser.open, parser.faults, parser.addresses) == ([], [], [])
    assert not re.search(r"https?:|url\(|@import|<script", html)
    assert f'<html lang="{language}">' in html
    assert html.count("<svg") == 2
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ET.fromstring(svg)


def test_names_cannot_break_out_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page("en", "<script>", "&", (("<b>", "|"),), (Section("*x*", (Prose("a_b<i>"),)),))
    from proa.cli.page.html import html_page

    html = html_page(page, footer="<")
    assert "<script>" not in html
    assert "<i>" not in html
    assert "a\\_b&lt;i>" in markdown_page(page)


def test_markdown_has_a_table_for_each_grid(capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, *flags(PRICED), form="markdown")
    assert text.startswith("# Plan: 24 sessions, Qwen/Qwen3-8B\n")
    for line in text.splitlines():
        if line.startswith("| ---"):
            assert set(line) <= set("|-: ")
    assert "```\nproa bench run" in text


def test_csv_has_every_leaf(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.reader(io.StringIO(answer(capsys, *flags(PLACED), form="csv"))))
    assert rows[0] == ["section", "row", "key", "value"]
    assert ["demand", "", "design_sessions", "24"] in rows
    assert ["demand", "", "users", ""] in rows
    assert ["levers", "1", "weights", "bf16"] in rows
    assert {len(row) for row in rows} == {4}


def test_long_cells_are_cut_between_words() -> None:
    words = "하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열 " * 6
    grid = Grid(("항목", "n"), ((words, "1,000"), ("짧음", "2")), right=frozenset({1}), marked=1)
    page = Page("ko", "제목", "잠정", (), (Section("표", (grid, Bullets((words,), warns=True))),))
    text = text_page(page)
    assert max(columns(line) for line in text.splitlines()) <= COLUMNS
    assert "▸ 짧음" in text
    assert wrapped("가나 다라", 4) == ["가나", "다라"]


@pytest.mark.parametrize("highest", [0.0, 0.3, 1.0, 7.2, 99.0, 101.0, 45_678.0])
def test_axes_end_at_round_numbers_above(highest: float) -> None:
    made = axis(highest, "x")
    assert made.most >= highest
    assert 2 <= len(made.ticks()) <= 12
    assert made.ticks()[-1] == pytest.approx(made.most)


def test_plots_stay_inside_their_frame() -> None:
    bars = [MemoryBar(label=str(at), parts=(10**9, 10**10 * at, 10**11)) for at in range(5)]
    memory = memory_plot(bars, ("a", "b", "<c>"), (80 * 10**9, "one GPU"), ("x", "y"))
    points = [SpeedPoint(sessions=n, user_tokens_per_s=100 / n) for n in (1, 2, 40)]
    speed = speed_plot(points, (24, 30), ("x", "y", "24", "30"), (30, "end"))
    for svg in (memory[memory.index("<svg") :], speed):
        root = ET.fromstring(svg)
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for element in root.iter():
            for name, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
                assert 0 <= float(element.attrib.get(name, 0)) <= most
    assert "&lt;c&gt;" in memory
