"""SECURITY.md lists what is tested here, with what answers it: no more and no less."""

import re
from pathlib import Path

from tests.attacks import (
    test_answers,
    test_bodies,
    test_running,
    test_targets,
    test_wire,
)
from tests.attacks.register import RESULTS

MODULES = (test_wire, test_targets, test_bodies, test_answers, test_running)
PAGE = Path(__file__).resolve().parents[2] / "SECURITY.md"


def test_the_list_is_that_of_the_tests() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## Attacks", 1)[1]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", text, re.MULTILINE)[1:]
    assert {kind: set(told.split(", ")) for kind, told in rows} == RESULTS
    assert len(rows) == len(RESULTS)


def test_each_row_names_the_file_of_its_tests() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for module in MODULES:
        assert f"`{Path(str(module.__file__)).name}`" in text
