"""`proa bench compare` before servers on real sockets: what it prints, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.bench.kept_files import checked
from tests.cli.bench_servers import InterruptingServer, paced, serving

from proa.bench.paced_server import Pace
from proa.cli.main import main
from proa.cli.texts import texts_of
from proa.testing.delay_proxy import ClientSide, Hop
from proa.testing.ports import closed_port

QUICK = ["--tokens", "3,9", "--rounds", "5", "--warmup-rounds", "0", "--probes", "2",
         "--input-tokens", "40"]  # fmt: skip
PACE = Pace(ttft_s=0.002, gap_s=0.004)


def compare(direct: str, gateway: str, *flags: str) -> int:
    sides = [f"direct={direct}", f"gateway={gateway}"]
    return main(["bench", "compare", *sides, *QUICK, "--lang", "en", *flags])


def hop(address: str, **changes: Any) -> Hop:
    host, _, port = address.partition(":")
    return Hop(host=host, port=int(port), **changes)


def test_what_a_gateway_adds_is_found_with_every_pair_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "pairs.sqlite"
    with paced(PACE) as engine, paced(Pace(ttft_s=0.032, gap_s=0.004)) as gateway:
        flags = ["--margin-us", "15000", "--out", str(out), "--format", "json"]
        code = compare(engine, gateway, *flags)
    told = json.loads(capsys.readouterr().out)
    assert (code, told["margins"][0]["verdict"], told["pairs"]) == (4, "different", 10)
    assert told["shift"]["ttft_s"]["estimate"] == pytest.approx(0.03, abs=0.01)
    assert [one["tokens"] for one in told["lengths"]] == [3, 9]
    assert told["lengths"][1]["gateway"]["output_tokens"] == 9
    assert told["regression"]["per_request_s"]["n"] == 5
    assert told["unequal_lengths"] == []
    assert told["shift"]["ttft_s"]["n"] == 20
    rows = checked(out, told, capsys)
    assert len(rows) == 40
    assert {row["target"] for row in rows} == {"direct", "gateway"}


def test_b54_a_hop_that_holds_events_back_is_no_win(capsys: pytest.CaptureFixture[str]) -> None:
    """B54."""
    with paced(PACE) as engine:
        behind = hop(engine, hold=0)
        with serving(lambda: ClientSide(behind)) as gateway:
            code = compare(engine, gateway, "--format", "markdown")
    page = capsys.readouterr().out
    assert code == 4
    assert "**the gateway holds events back" in page
    assert "whole answers come at once" in page
    assert "| added |" in page


def test_b60_sides_that_answer_at_different_length_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """B60: something on the way takes the lengths away."""
    dropped = '{"max_tokens": 5}'
    with paced(PACE) as engine, paced(PACE) as other:
        quick = ["--margin-us", "900000", "--rounds", "3"]
        code = compare(engine, other, *quick, "--extra", dropped)
        same = capsys.readouterr().out
        assert code == 0, same
        assert "asked for 9 tokens, both sides gave 5" in same

        class Shortening(ClientSide):
            def data_received(self, data: bytes) -> None:
                super().data_received(data.replace(b'"max_tokens":9', b'"max_tokens":4'))

        behind = hop(other)
        with serving(lambda: Shortening(behind)) as gateway:
            code = compare(engine, gateway, *quick)
    told = capsys.readouterr().out
    assert code == 4
    assert "(refused)" in told
    assert "asked for 9 tokens, the two sides" in told


def test_ctrl_c_keeps_whole_pairs_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    server = InterruptingServer(PACE, at=12)
    with paced(server) as engine:
        code = compare(engine, engine, "--lang", "ko", "--rounds", "500")
    told = capsys.readouterr().out
    assert code == 130
    assert "중단했습니다" in told
    assert "쌍을 쟀습니다" in told


def test_it_ends_as_soon_as_it_is_precise(capsys: pytest.CaptureFixture[str]) -> None:
    with paced(PACE) as engine:
        code = compare(engine, engine, "--rounds", "500", "--half-width-us", "900000")
    assert code == 0
    assert "as precise as was asked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["direct=h:1"], "gateway missing"),
        (["direct=h:1", "h:2"], "gateway=URL"),
        (["direct=h:1", "direct=h:2"], "given twice"),
        (["direct=h:1", "gateway=h:2", "--tokens", "50,x"], "--tokens"),
        (["direct=h:1", "gateway=h:2", "--margin-us", "-5"], "--margin-us"),
        (["direct=h:1", "gateway=h:2", "--rounds", "0"], "--rounds"),
        (["direct=h:1", "gateway=h:2", "--out", "/nowhere/pairs"], "/nowhere/pairs"),
    ],
)
def test_wrong_input_is_named(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["bench", "compare", *arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    assert named in capsys.readouterr().err


def test_an_endpoint_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with closed_port() as port:
        code = compare(f"127.0.0.1:{port}", f"127.0.0.1:{port}", "--model", "m")
    assert code == 3
    assert "direct" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["bench_compare", "bench_combine", "bench_quality"])
def test_both_languages_say_the_same(verb: str) -> None:
    texts = texts_of(verb)
    assert texts["ko"].keys() == texts["en"].keys()
    for key, text in texts["en"].items():
        names = {part.split("}")[0] for part in text.split("{")[1:]}
        assert names == {part.split("}")[0] for part in texts["ko"][key].split("{")[1:]}, key
