"""A run's file: all of it comes back to the last digit, whatever ended the run."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.bench.keep.kept_runs import START, started, write_visit, written

from proa.bench.document import document
from proa.bench.keep.kept import kept
from proa.bench.keep.row_file import RowFile
from proa.bench.keep.run_file import RunEnd
from proa.bench.run import RunResult
from proa.bench.window import Cause
from proa.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


def read_run(path: Path) -> RunResult:
    found = kept(path).result
    assert isinstance(found, RunResult)
    return found


def test_a_file_gives_back_every_number(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    visit = written(path)
    found = read_run(path)
    assert found.visits == [visit]
    assert found.stopped is None
    told = document(found)
    assert told["levels"][0]["cache"] == {
        "queries": 100.0,
        "hits": 3.0,
        "hit_share": 0.03,
        "asked_share": 0.0,
    }
    assert told["levels"][0]["gauges"]["t"]["kv_use"]["n"] == 12
    assert told == document(RunResult(start=START, visits=[visit]))
    assert [path.name for path in tmp_path.iterdir()] == ["run.sqlite"]


def test_no_key_header_password_or_text_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    written(path)
    content = path.read_bytes()
    assert [word for word in (b"secret", b"pass@") if word in content] == []


def test_a_run_that_was_killed_keeps_what_it_measured(tmp_path: Path) -> None:
    """The last visit's window is what the watch would have said, had the run ended there."""
    path = tmp_path / "run.sqlite"
    file, keep = started(path)
    write_visit(keep, end=False)
    found = read_run(path)  # the writer is still there, with its last second unwritten
    assert found.stopped is Cause.CUT_OFF
    (visit,) = found.visits
    assert visit.result.window.cause is Cause.DURATION
    assert visit.result.window.start_s == pytest.approx(1.32, abs=0.01)
    assert visit.stats.requests == 12
    file.close()


def test_a_full_disk_keeps_what_there_was_room_for_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    file, keep = started(path)
    connection = file._connection
    assert connection is not None
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    write_visit(keep)
    assert file.fault is not None
    assert "full" in file.fault
    assert file.waiting > 0
    connection.execute("PRAGMA max_page_count = 100000")
    file.close()
    assert file.waiting == 0
    assert read_run(path).visits[0].stats.requests == 12


def test_a_disk_that_stays_full_leaves_a_readable_file(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    file, keep = started(path)
    connection = file._connection
    assert connection is not None
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    write_visit(keep)
    file.end(RunEnd(None, 0.0))
    file.close()
    assert file.fault is not None
    assert file.waiting > 0
    assert read_run(path).stopped is Cause.CUT_OFF


def test_kill_9_in_the_middle_of_a_write_leaves_a_readable_file(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    program = textwrap.dedent(
        f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(ROOT)!r})
        from tests.bench.keep import kept_runs as t
        file, keep = t.started(Path({str(path)!r}))
        t.write_visit(keep, end=False)
        file.flush()
        file._connection.execute("BEGIN")
        file._connection.execute("DELETE FROM requests")
        print("ready", flush=True)
        sys.stdin.read()
        """
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"ready\n"
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    found = read_run(path)
    assert found.stopped is Cause.CUT_OFF
    assert len(found.visits[0].result.samples) == 21


def test_a_file_without_a_run_is_not_left_behind(tmp_path: Path) -> None:
    file = RowFile(tmp_path / "run.sqlite")
    file.close()
    file.close()
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    written(path)
    with pytest.raises(InputError, match="there already"):
        RowFile(path)
    with pytest.raises(InputError, match=r"no/run\.sqlite"):
        RowFile(tmp_path / "no" / "run.sqlite")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        ("PRAGMA user_version = 0", "version 0 of the file format; this proa reads version 2"),
        ("PRAGMA user_version = 99", "version 99"),
        ("PRAGMA application_id = 7", "no run of proa bench"),
        ("UPDATE requests SET failure = 'luck' WHERE seq = 1", "requests: row 1 is damaged"),
        ("UPDATE requests SET events = x'00ff' WHERE seq = 1", "requests: row 1 is damaged"),
        ("UPDATE ticks SET tick = x'c1'", "ticks: a row is damaged"),
        ("UPDATE about SET value = '{}' WHERE key = 'start'", "damaged"),
        ("DROP TABLE gauges", "no such table: gauges"),
        ("DELETE FROM about", "nothing was measured"),
    ],
)
def test_another_or_a_damaged_file_is_refused(tmp_path: Path, spoil: str, told: str) -> None:
    path = tmp_path / "run.sqlite"
    written(path)
    with sqlite3.connect(path) as connection:
        connection.execute(spoil)
    connection.close()
    with pytest.raises(InputError, match=told):
        read_run(path)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with pytest.raises(InputError, match="no such file"):
        read_run(path)
    path.write_text("level,users\n" * 100, encoding="utf-8")
    with pytest.raises(InputError, match="not a run of proa bench"):
        read_run(path)
