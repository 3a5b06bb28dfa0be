"""Every fault of docs/bench-faults.md has tests that carry its number, in the files named there."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
TABLE = TESTS.parent / "docs" / "bench-faults.md"


def listed() -> dict[str, set[str]]:
    rows = re.findall(
        r"^\| B(\d+) \|.*\| ([^|]+) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {number: set(re.findall(r"`([^`]+)`", files)) for number, files in rows}


def named() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in (*TESTS.glob("bench/**/test_*.py"), *TESTS.glob("cli/bench/test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                numbers = re.match(r"test_((?:b\d+_)+)", node.name)
                for number in re.findall(r"\d+", numbers[1]) if numbers else ():
                    found.setdefault(number, set()).add(path.relative_to(TESTS).as_posix())
    return found


def test_each_fault_has_its_tests() -> None:
    assert len(listed()) == 30
    assert listed() == named()
