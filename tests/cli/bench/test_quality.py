"""`proa bench quality` before servers that know the answers, or not."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.bench.kept_files import checked
from tests.cli.bench_servers import answering

from proa.cli.main import main
from proa.testing.replies import json_reply
from proa.testing.steps import Reply

CASES = "".join(
    json.dumps({"id": f"{n}", "prompt": f"{n} + 1 =", "number": n + 1, "group": "sums"}) + "\n"
    for n in range(24)
)


def knows(prompt: str) -> str:
    found = re.match(r"(\d+) \+ 1", prompt)
    code = re.search(r"(?:번호는|is) (\d{5})", prompt)
    return str(int(found[1]) + 1) if found else code[1] if code else "?"


def forgets(prompt: str) -> str:
    told = knows(prompt)
    return "0" if told.isdigit() and int(told) % 2 else told


def refuses(prompt: str) -> Reply:
    return json_reply({"error": {"message": "too long a context"}}, status=503)


@pytest.fixture
def cases(tmp_path: Path) -> str:
    path = tmp_path / "cases.jsonl"
    path.write_text(CASES)
    return str(path)


def quality(a: str, b: str, *flags: str) -> int:
    return main(["bench", "quality", f"a={a}", f"b={b}", "--lang", "en", *flags])


def test_a_side_that_forgets_half_is_found(
    cases: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "answers.sqlite"
    with answering(knows) as a, answering(forgets) as b:
        flags = ["--data", cases, "--margin", "0.05", "--repeat", "--out", str(out)]
        code = quality(a, b, *flags, "--format", "json")
    told = json.loads(capsys.readouterr().out)
    assert (code, told["verdict"]) == (4, "worse")
    assert (told["total"]["right_a"], told["total"]["right_b"]) == (24, 12)
    assert told["total"]["mcnemar"]["p_value"] == pytest.approx(2 / 2**12)
    assert (told["match"]["same"], told["own_match"]["same"]) == (12, 24)
    assert told["logprobs"]["shift"]["estimate"] == 0.0
    assert len(checked(out, told, capsys)) == 3 * 24


def test_generated_questions_are_asked_and_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    with answering(knows) as engine:
        flags = ["--needle", "100,300", "--depths", "0,100", "--write-cases", str(kept)]
        assert quality(engine, engine, *flags, "--format", "markdown") == 0
        page = capsys.readouterr().out
        assert "| needle ko 300 100% | 1 | 1 | 1 |" in page
        assert "the same text: 8 of 8" in page
        assert quality(engine, engine, "--data", str(kept), "--lang", "ko") == 0
    assert "양쪽이 답한 질문 8건" in capsys.readouterr().out


def test_a_side_that_answers_nothing_is_an_upstream_failure(
    cases: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(knows) as a, answering(refuses) as b:
        assert quality(a, b, "--data", cases, "--model", "m") == 3
    assert "too long a context" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ([], "--data, --sample or --needle"),
        (["--data", "/nowhere"], "--data"),
        (["--sample", "0"], "--sample"),
        (["--needle", "x"], "--needle"),
        (["--needle", "1K", "--depths", "120"], "--depths"),
        (["--sample", "4", "--margin", "2"], "--margin"),
    ],
)
def test_wrong_input_is_named(
    flags: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quality("h:1", "h:2", *flags) == 2
    assert named in capsys.readouterr().err
