"""A measurement's report as one HTML file, with its own data inside; nothing is fetched."""

import json
import pkgutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from proa.bench.keep.kept import Kept
from proa.bench.keep.verify import DATA_ID
from proa.cli.bench.report_page import look, page_of
from proa.cli.page.html import html_page
from proa.cli.texts import Texts


def html_report(report: Mapping[str, Any], runs: Sequence[Kept], texts: Texts) -> str:
    """The whole page; the same report gives the same bytes."""
    times = [
        told["conditions"]["started_unix_s"] for told in report["runs"] if "conditions" in told
    ]
    date = f"{datetime.fromtimestamp(max(times), UTC):%Y-%m-%d}" if times else texts.say("not_told")
    footer = texts.say("footer", version=report["proa"], date=date)
    style = (pkgutil.get_data(__package__, "page.css") or b"").decode()
    data = json.dumps(report, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    script = f'<script type="application/json" id="{DATA_ID}">{data}</script>\n'
    page = page_of(report, runs, texts, is_html=True)
    return html_page(page, footer=footer, look=look(report), style=style, data=script)
