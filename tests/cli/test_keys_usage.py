"""`proa keys usage` over a store: days, sums, forms, languages."""

import json
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from proa.cli.main import main
from proa.store.usage import Report, UsageCount, open_usage

TODAY = datetime.now(UTC).date()
FIRST = TODAY.replace(day=1)


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path / 'usage.db'}"
    first, old = FIRST.toordinal(), date(2020, 5, 3).toordinal()
    counts = [
        UsageCount(first, "sales", 2, 1000, 500, 2_500_000),
        UsageCount(first, "research", 1, 10, 5, 0),
        UsageCount(old, "sales", 7, 70, 7, 700),
    ]
    with closing(open_usage(url)) as store:
        store.sync(Report("w", first, first, (), counts))
    return url


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["keys", "usage", *arguments]) == 0
    return capsys.readouterr().out


def test_this_month_by_tenant_with_sums(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "--store", url, "--lang", "en").splitlines()
    assert lines[0].split() == ["day", "tenant", "requests", "input", "tokens", "output", "tokens",
                                "cost"]  # fmt: skip
    assert [line.split() for line in lines[1:]] == [
        [FIRST.isoformat(), "research", "1", "10", "5", "0.00"],
        [FIRST.isoformat(), "sales", "2", "1,000", "500", "2.50"],
        ["together", "research", "1", "10", "5", "0.00"],
        ["together", "sales", "2", "1,000", "500", "2.50"],
    ]
    assert "합계" in told(capsys, "--store", url, "--lang", "ko")


def test_other_days_and_one_tenant_as_json_and_csv(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--store", url, "--since", "2020-05-01", "--until", "2020-05-31", "--tenant", "sales"]
    row = {"day": "2020-05-03", "tenant": "sales", "requests": 7, "input_tokens": 70,
           "output_tokens": 7, "cost": 0.0007}  # fmt: skip
    assert json.loads(told(capsys, *asked, "--format", "json")) == {"usage": [row]}
    assert told(capsys, *asked, "--format", "csv").splitlines() == [
        ",".join(row),
        ",".join(map(str, row.values())),
    ]
    assert json.loads(told(capsys, *asked[:-1], "none", "--format", "json")) == {"usage": []}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--since", "yesterday"], "2026-12-31"),
        (["--store", "mysql://x"], "sqlite:FILE"),
        (["--config", "none.toml"], "none.toml"),
    ],
)
def test_what_cannot_be_asked_is_wrong_input(
    url: str, capsys: pytest.CaptureFixture[str], arguments: list[str], word: str
) -> None:
    with_store = [] if "--config" in arguments or "--store" in arguments else ["--store", url]
    assert main(["keys", "usage", *with_store, *arguments]) == 2
    assert word in capsys.readouterr().err
