"""`proa requests`: queries, forms of output, and what is refused."""

import csv
import io
import json
from contextlib import closing
from pathlib import Path

import pytest

from proa.cli.main import main
from proa.domain.request_record import AdminAction, KeptRequest, RequestRecord
from proa.store.records import open_records

NOON_S = 1_796_040_000.0  # 2026-11-30T12:00:00Z


def kept(number: int, **values: object) -> KeptRequest:
    known: dict[str, object] = {
        "request_id": f"r{number}",
        "method": "POST",
        "path": "/v1/chat/completions",
        "status": 200,
        "outcome": "ok",
        "duration_ms": 1500.0,
        "tenant": "영업",
        "model": "tiny",
    }
    return KeptRequest(NOON_S + number, RequestRecord(**known | values))  # type: ignore[arg-type]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A proa.toml whose store has three requests and one admin action."""
    file = tmp_path / "proa.toml"
    file.write_text('[records]\nstore = "sqlite:kept.db"\n', encoding="utf-8")
    with closing(open_records(f"sqlite:{tmp_path / 'kept.db'}")) as store:
        action = AdminAction(
            at_s=NOON_S, who="key ops", method="DELETE", path="/admin/engines/a", status=200
        )
        store.write(
            [
                kept(1, engine="main", prompt_tokens=12, completion_tokens=5, ttft_ms=80.2),
                kept(2, status=429, outcome="client_fault", tenant="개발"),
                kept(3, model='=HYPERLINK("http://x")', pii={"resident_number": 1}),
            ],
            [action],
        )
    return file


def printed(capsys: pytest.CaptureFixture[str], config: Path, *flags: str) -> str:
    assert main(["requests", "--config", str(config), *flags]) == 0
    return capsys.readouterr().out


def test_a_table_in_both_languages(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    lines = printed(capsys, config, "--lang", "en").splitlines()
    assert lines[0].split("  ")[0] == "time"
    assert "resident_number 1" in lines[1]
    assert "12+5" in lines[3]
    assert "80 ms" in lines[3]
    assert "개인정보" in printed(capsys, config, "--lang", "ko").splitlines()[0]


def test_json_has_every_field(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    found = json.loads(printed(capsys, config, "--format", "json"))["requests"]
    assert [one["request_id"] for one in found] == ["r3", "r2", "r1"]
    assert found[2]["time"] == "2026-11-30T12:00:01.000+00:00"
    assert found[0]["pii"] == {"resident_number": 1}
    assert {"tenant", "route", "decision", "ttft_ms"} <= set(found[0])


def test_csv_is_safe_in_a_spreadsheet(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(printed(capsys, config, "--format", "csv"))))
    assert [row["tenant"] for row in rows] == ["영업", "개발", "영업"]
    assert rows[0]["model"] == """'=HYPERLINK("http://x")"""
    assert json.loads(rows[0]["pii"]) == {"resident_number": 1}


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (["--tenant", "개발"], ["r2"]),
        (["--status", "errors"], ["r2"]),
        (["--status", "200", "--engine", "main"], ["r1"]),
        (["--pii"], ["r3"]),
        (["--id", "r1"], ["r1"]),
        (["--limit", "1"], ["r3"]),
        (["--limit", "0"], ["r3", "r2", "r1"]),
        (["--since", "2026-11-30T12:00:02Z"], ["r3", "r2"]),
        (["--until", "2026-11-30T12:00:02+00:00"], ["r1"]),
        (["--since", "1s"], []),
    ],
)
def test_queries(
    capsys: pytest.CaptureFixture[str], config: Path, flags: list[str], found: list[str]
) -> None:
    told = json.loads(printed(capsys, config, "--format", "json", *flags))["requests"]
    assert [one["request_id"] for one in told] == found


def test_admin_actions(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    (action,) = json.loads(printed(capsys, config, "--admin", "--format", "json"))["actions"]
    assert (action["who"], action["path"]) == ("key ops", "/admin/engines/a")
    assert "key ops" in printed(capsys, config, "--admin")


def test_that_more_are_there_is_told(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    assert main(["requests", "--config", str(config), "--limit", "2", "--lang", "en"]) == 0
    assert "these are the newest 2; --limit 0 shows all" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--since", "yesterday"], "--since = 'yesterday': accepted is a time ago such as 15m"),
        (["--status", "6xx"], "--status = '6xx': accepted is a status such as 429"),
        (["--limit", "-1"], "--limit = -1: accepted is a number of records, 0 for all"),
        (["--store", "mysql://me:secret@h/d"], "--store = 'mysql': accepted is sqlite:FILE"),
    ],
)
def test_wrong_flags(
    capsys: pytest.CaptureFixture[str], config: Path, flags: list[str], told: str
) -> None:
    assert main(["requests", "--config", str(config), *flags]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "secret" not in error


def test_without_records(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "proa.toml"
    file.write_text("", encoding="utf-8")
    assert main(["requests", "--config", str(file)]) == 2
    assert "no request records are kept" in capsys.readouterr().err
    file.write_text("[records]\n", encoding="utf-8")
    assert main(["requests", "--config", str(file)]) == 3
    assert "records.db cannot be opened" in capsys.readouterr().err
