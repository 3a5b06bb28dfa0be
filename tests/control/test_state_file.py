"""The state file: whole after any write, and never in the way of a start."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.control.engines import MemorySink

from proa.control.state_file import StateFile
from proa.telemetry.logs import Log


def identity(value: Any) -> Any:
    return value


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


@pytest.fixture
def log(sink: MemorySink) -> Log:
    return Log(sink, format="json")


def test_sections_outlive_the_process_and_each_other(tmp_path: Path, log: Log) -> None:
    path = tmp_path / "proa.state.json"
    file = StateFile(path, log)
    assert file.section("engines", identity) is None
    file.write("engines", {"a": 1})
    file.write("speeds", [1.5])
    again = StateFile(path, log)
    assert again.section("engines", identity) == {"a": 1}
    again.write("speeds", [2.5])
    last = StateFile(path, log)
    assert (last.section("engines", identity), last.section("speeds", identity)) == (
        {"a": 1},
        [2.5],
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["proa.state.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_there_already_is_not_written_again(tmp_path: Path, log: Log) -> None:
    path = tmp_path / "s"
    file = StateFile(path, log)
    file.write("engines", {})
    assert not path.exists()
    file.write("engines", {"a": 1})
    before = path.stat().st_ino
    file.write("engines", {"a": 1})
    assert path.stat().st_ino == before
    file.write("engines", {})
    assert StateFile(path, log).section("engines", dict) == {}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 2}', "\0", "[" * 100_000, '{"engines": {}}', "\ud800"]
)
def test_a_damaged_file_is_kept_aside_and_said(
    tmp_path: Path, log: Log, sink: MemorySink, text: str
) -> None:
    path = tmp_path / "s.json"
    content = text.encode("utf-8", "surrogatepass")
    path.write_bytes(content)
    file = StateFile(path, log)
    assert file.section("engines", identity) is None
    assert (tmp_path / "s.json.bad").read_bytes() == content
    told = json.loads(sink.lines[0])
    assert (told["level"], told["message"]) == ("error", "state file is damaged")
    assert told["kept_as"].endswith("s.json.bad")
    file.write("engines", {"b": 2})
    assert StateFile(path, log).section("engines", identity) == {"b": 2}


def test_one_unusable_section_leaves_the_others(tmp_path: Path, log: Log, sink: MemorySink) -> None:
    path = tmp_path / "s.json"
    first = StateFile(path, log)
    first.write("engines", "wrong")
    first.write("speeds", [1])
    file = StateFile(path, log)

    def refuse(value: Any) -> Any:
        raise ValueError(f"{value!r} is no table")

    assert file.section("engines", refuse) is None
    assert file.section("speeds", identity) == [1]
    assert (tmp_path / "s.json.bad").exists()
    assert "'wrong' is no table" in json.loads(sink.lines[0])["error"]
    file.write("speeds", [2])
    assert json.loads(path.read_text()) == {"format": 1, "speeds": [2]}


def test_a_place_that_cannot_be_written_is_said_once(
    tmp_path: Path, log: Log, sink: MemorySink
) -> None:
    file = StateFile(tmp_path / "gone" / "s.json", log)
    file.write("engines", {"a": 1})
    file.write("engines", {"a": 2})
    assert "cannot be written" in file.problem
    assert len(sink.lines) == 1
    (tmp_path / "gone").mkdir()
    file.write("engines", {"a": 2})
    assert file.problem == ""


def test_without_a_path_nothing_is_kept(log: Log) -> None:
    file = StateFile(None, log)
    file.write("engines", {"a": 1})
    assert (file.problem, file.section("engines", identity)) == ("", {"a": 1})
