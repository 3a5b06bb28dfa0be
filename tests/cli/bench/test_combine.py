"""`proa bench combine` before servers of known speed."""

import json
from pathlib import Path

import pytest
from tests.cli.bench.kept_files import checked
from tests.cli.bench_servers import InterruptingServer, paced

from proa.bench.paced_server import Pace
from proa.cli.main import main

QUICK = ["--duration", "0.12", "--warmup", "0.05", "--settle", "0", "--users", "4",
         "--output-tokens", "6", "--input-tokens", "40", "--no-self-check",
         "--lang", "en"]  # fmt: skip
MAIN, AUX, TOGETHER = Pace(gap_s=0.01), Pace(gap_s=0.03), Pace(gap_s=0.005)


def combine(addresses: tuple[str, str, str], *flags: str) -> int:
    named = zip(("together", "main", "aux"), (addresses[2], *addresses[:2]), strict=True)
    return main(["bench", "combine", *(f"{n}={at}" for n, at in named), *QUICK, *flags])


def test_gains_and_sites_of_servers_of_known_speed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "blocks.sqlite"
    with paced(MAIN) as first, paced(AUX) as second, paced(TOGETHER) as both:
        flags = ["--format", "json", "--sites", "2", "--min-gain", "1.05", "--out", str(out)]
        code = combine((first, second, both), *flags)
    told = json.loads(capsys.readouterr().out)
    speeds = {part["name"]: part["tokens_per_s"] for part in told["parts"]}
    assert speeds["aux"] < speeds["main"] < speeds["together"]
    gain = told["gain"]["over_main"]
    assert gain["rounds"] == 3
    assert gain["low"] <= gain["estimate"] <= gain["high"]
    assert told["gain"]["of_sum"]["estimate"] < gain["estimate"]
    assert code == (0 if gain["low"] >= 1.05 else 4)
    assert [(one["part"], one["site"], one["users"]) for one in told["sites"][:2]] == [
        ("main", 1, 2),
        ("main", 2, 2),
    ]
    assert all(one["error_rate"] == 0 for one in told["sites"])
    assert len(told["blocks"]) == 9
    rows = checked(out, told, capsys)
    assert len({(row["round"], row["part"]) for row in rows}) == 9


def test_ctrl_c_keeps_whole_blocks_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    server = InterruptingServer(Pace(gap_s=0.01), at=40)
    with paced(server) as engine:
        code = combine((engine, engine, engine), "--sites", "1")
    told = capsys.readouterr().out
    assert code == 130
    assert "interrupted: the" in told
    assert "together / main" in told


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--users", "4,4"], "--users"),
        (["--rounds", "2"], "--rounds"),
        (["--users", "2", "--sites", "3"], "sites"),
        (["--min-gain", "0"], "--min-gain"),
    ],
)
def test_wrong_input_is_named(
    flags: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert combine(("h:1", "h:2", "h:3"), *flags) == 2
    assert named in capsys.readouterr().err
