import stat
from pathlib import Path

import pytest
from benchmarks.planner_explore.__main__ import data, ratios, table
from benchmarks.planner_explore.peer import PeerError, recommended
from benchmarks.planner_explore.question import SearchStats

# What aiconfigurator 0.12.0 prints, cut to what is read.
SAID = """\
[aiconfigurator] [I] [main.py:2152] Experiment agg completed with 261 results.
[aiconfigurator] [I] [main.py:2152] Experiment disagg completed with 31 results.
|  1   |   vllm  | 262.54 | 30.63 | 1.58 | 816.38 | 17106.22 | 27 (=9x3) | 3 (3=3x1) | 3 |
[aiconfigurator] [I] [main.py:2262] All experiments completed in 45.41 seconds
"""


def environment(path: Path, script: str) -> Path:
    program = path / "bin" / "aiconfigurator"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_peers_answer_is_read_from_what_it_prints(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    said.write_text(SAID, encoding="utf-8")
    stats = recommended(environment(tmp_path, f'test "$2" = recommend && cat {said}'))
    assert (stats.configurations, stats.search_s, stats.answer) == (292, 45.41, "3 GPUs")
    assert stats.process_s > 0


@pytest.mark.parametrize(("script", "told"), [("exit 3", "failed"), ("echo hi", "hi")])
def test_a_peer_that_says_something_else_is_an_error(
    tmp_path: Path, script: str, told: str
) -> None:
    with pytest.raises(PeerError, match=told):
        recommended(environment(tmp_path, script))
    with pytest.raises(PeerError, match="missing"):
        recommended(tmp_path / "nowhere")


def test_ratios_compare_one_answer_and_configurations_per_second() -> None:
    rows = {
        "whole space": SearchStats(1_000_000, 5.0, "", 6.0, 5.5),
        "same question": SearchStats(400, 0.1, "4 GPUs", 0.5, 0.4),
    }
    assert ratios(rows) == {}
    rows["aiconfigurator"] = SearchStats(300, 30.0, "3 GPUs", 50.0, 20.0)
    assert ratios(rows) == {
        "search": pytest.approx(300),
        "whole program": pytest.approx(100),
        "whole program, CPU": pytest.approx(50),
        "configurations per second": pytest.approx(20_000),
    }
    assert "3 GPUs" in table(rows)
    assert data(rows)["whole space"]["configurations_per_s"] == 200_000
