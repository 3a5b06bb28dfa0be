"""Log lines: their fields, their bounds, and that nothing in them can break a line."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.domain.request_record import RequestRecord
from proa.errors import InputError
from proa.telemetry.logs import Log, open_log
from proa.telemetry.sink import LineSink

NOON = 1_796_040_000.25


class Lines(LineSink):
    """A sink that keeps its lines."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.dropped = 0

    def append(self, line: bytes) -> None:
        self.taken.append(line)

    def flush(self) -> bool:
        return True

    def json(self) -> dict[str, object]:
        return msgspec.json.decode(self.taken[-1], type=dict[str, object])


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def json_log(lines: Lines) -> Log:
    return Log(lines, clock=lambda: NOON)


@pytest.fixture
def text_log(lines: Lines) -> Log:
    return Log(lines, format="text", clock=lambda: NOON)


def record(path: str = "/v1/chat/completions", model: str | None = "tiny") -> RequestRecord:
    return RequestRecord(
        request_id="r-1",
        method="POST",
        path=path,
        status=200,
        outcome="ok",
        duration_ms=123.4567,
        model=model,
        engine="main",
        stream=True,
    )


def test_a_request_in_json(lines: Lines, json_log: Log) -> None:
    json_log.request(record())
    assert lines.json() == {
        "ts": "2026-11-30T12:00:00.250Z",
        "request_id": "r-1",
        "method": "POST",
        "path": "/v1/chat/completions",
        "status": 200,
        "outcome": "ok",
        "duration_ms": 123.5,
        "key": None,
        "tenant": None,
        "model": "tiny",
        "route": None,
        "engine": "main",
        "decision": None,
        "queued_ms": None,
        "ttft_ms": None,
        "bytes_in": 0,
        "bytes_out": 0,
        "prompt_tokens": None,
        "completion_tokens": None,
        "retries": 0,
        "hedged": None,
        "stream": True,
        "pii": None,
    }


def test_a_request_in_text(lines: Lines, text_log: Log) -> None:
    text_log.request(record(model='a "b"\nc'))
    (line,) = lines.taken
    assert line.decode().split(" ", 1)[0] == "2026-11-30T12:00:00.250Z"
    assert line.decode().split(" ", 1)[1] == (
        "REQUEST request_id=r-1 method=POST path=/v1/chat/completions status=200 outcome=ok "
        'duration_ms=123.5 model="a \\"b\\"\\nc" engine=main bytes_in=0 bytes_out=0 retries=0 '
        "stream=true\n"
    )


def test_the_query_and_long_names_stay_out(lines: Lines, json_log: Log) -> None:
    json_log.request(record(path="/v1/models?api_key=secret", model="m" * 5000))
    assert lines.json()["path"] == "/v1/models"
    assert lines.json()["model"] == "m" * 128
    json_log.request(record(path="/" + "p" * 60_000))
    assert len(lines.taken[-1]) < 1024


def test_an_event_in_both_forms(lines: Lines, json_log: Log, text_log: Log) -> None:
    json_log.event("warning", "engine is away", engine="main", tries=3)
    assert lines.json() == {
        "ts": "2026-11-30T12:00:00.250Z",
        "level": "warning",
        "message": "engine is away",
        "engine": "main",
        "tries": 3,
    }
    text_log.event("info", "on\ntwo lines", models=["a", "b"], detail=None)
    assert lines.taken[-1] == b"2026-11-30T12:00:00.250Z INFO on two lines models=a,b\n"


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_no_text_of_a_client_makes_a_second_line(path: str, model: str) -> None:
    lines = Lines()
    for form in (Log(lines, clock=lambda: NOON), Log(lines, format="text", clock=lambda: NOON)):
        form.request(record(path=path, model=model))
        form.event("error", model, path=path)
    assert len(lines.taken) == 4
    for line in lines.taken:
        assert line.endswith(b"\n")
        assert len(line.decode().splitlines()) >= 1
        assert line.count(b"\n") == 1
        assert b"\r" not in line
        assert b"\x1b" not in line
    assert msgspec.json.decode(lines.taken[0])


def test_the_stamp_follows_the_clock(lines: Lines) -> None:
    now = [NOON]
    log = Log(lines, clock=lambda: now[0])
    stamps = []
    for now[0] in (NOON, NOON + 0.5, NOON + 1):
        log.event("info", "tick")
        stamps.append(str(lines.json()["ts"])[-10:])
    assert stamps == ["00:00.250Z", "00:00.750Z", "00:01.250Z"]


def test_events_reach_a_file_at_once_and_requests_at_a_flush(tmp_path: Path) -> None:
    path = tmp_path / "proa.log"
    log = open_log(str(path))
    log.request(record())
    assert path.read_bytes() == b""
    assert log.flush()
    log.event("info", "ready")
    assert path.read_bytes().count(b"\n") == 2
    assert log.dropped == 0
    log.close()


def test_a_log_moves_to_another_path_and_form(tmp_path: Path) -> None:
    log = open_log(str(tmp_path / "old"))
    log.event("info", "first")
    log.move(str(tmp_path / "new"), format="text")
    log.event("info", "second")
    with pytest.raises(InputError):
        log.move(str(tmp_path / "missing" / "x"), format="json")
    log.event("info", "third")
    log.close()
    assert b'"message":"first"' in (tmp_path / "old").read_bytes()
    told = (tmp_path / "new").read_text().splitlines()
    assert [line.partition(" INFO ")[2] for line in told] == ["second", "third"]
