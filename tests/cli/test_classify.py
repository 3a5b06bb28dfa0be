"""`proa classify`: generate, train, test, run, as other programs use them."""

import io
import json
from pathlib import Path

import pytest

from proa.cli.main import main


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("classify")
    examples, model = directory / "examples.jsonl", directory / "classifier.json"
    assert main(["classify", "generate", "--count", "240", "--out", str(examples)]) == 0
    assert main(["classify", "train", str(examples), "--out", str(model)]) == 0
    return directory


def test_generate_writes_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classify", "generate", "--count", "8", "--lang", "ko"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["class"] for line in lines] == ["faq", "classification", "chat", "report"] * 2
    assert all(set(line) == {"text", "class", "group"} for line in lines)


def test_train_tells_its_accuracy(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples, out = trained / "examples.jsonl", trained / "other.json"
    assert main(["classify", "train", str(examples), "--out", str(out), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"file", "examples", "classes", "held_out"}
    assert told["held_out"]["accuracy"] > 0.8
    assert out.stat().st_size > 1000
    assert main(["classify", "train", str(examples), "--out", str(out), "--held-out", "0"]) == 0
    assert "4 classes from 240 examples" in capsys.readouterr().out


def test_test_has_stable_keys(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["classify", "test", str(trained / "examples.jsonl"), "--model"]
    assert main([*asked, str(trained / "classifier.json"), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {
        "file", "model", "examples", "accuracy", "classes", "mistakes", "us_per_text",
    }  # fmt: skip
    assert told["accuracy"] > 0.95
    assert main([*asked, str(trained / "classifier.json")]) == 0
    assert "right of 240 examples" in capsys.readouterr().out


def test_run_reads_standard_input(
    trained: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["classify", "run", "--model", str(trained / "classifier.json")]
    monkeypatch.setattr("sys.stdin", io.StringIO("What are the opening hours of the library?"))
    assert main([*asked, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["class"] == "faq"
    assert told["probability"] == max(told["probabilities"].values())
    monkeypatch.setattr("sys.stdin", io.StringIO('{"id":7,"text":"비밀번호 어떻게 바꾸나요?"}\n\n'))
    assert main([*asked, "--jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == 7


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["train", "none.jsonl"], "none.jsonl: cannot be read"),
        (["test", "none.jsonl"], "none.jsonl: cannot be read"),
        (["run", "--model", "none.json"], "none.json: cannot be read"),
        (["generate", "--count", "0"], "--count 0"),
        (["generate", "--out", "no/such/dir"], "no/such/dir: cannot be written"),
        (["train", "one.jsonl"], "one.jsonl: all examples are of class a"),
        (["train", "one.jsonl", "--held-out", "1"], "--held-out 1.0"),
    ],
)
def test_wrong_input_ends_with_2_and_names_it(
    arguments: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.jsonl").write_text('{"text":"t","class":"a"}\n')
    assert main(["classify", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("line", ["{", "[]", '{"id":1}'])
def test_a_wrong_line_of_standard_input_is_told(
    trained: Path, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(line))
    model = str(trained / "classifier.json")
    assert main(["classify", "run", "--jsonl", "--model", model]) == 2
    assert "standard input:1:" in capsys.readouterr().err
