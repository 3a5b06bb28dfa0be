"""`proa demo` itself: the whole run on real engines, and its ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import proa
from proa.cli.demo.command import listen_of
from proa.errors import InputError

SOURCE = Path(proa.__file__).parents[1]


@contextmanager
def running_demo(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The demo as a process; SIGINT works as in a terminal."""
    process = subprocess.Popen(
        [sys.executable, "-m", "proa", "demo", "--lang=en", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], beginning: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(beginning):
            return
    raise AssertionError(f"the demo ended with {process.wait()} and no line {beginning!r}")


@pytest.mark.timeout(300)  # a busy machine gets more time for each phase
def test_the_whole_demo_stays_up_for_other_clients_until_ctrl_c() -> None:
    with running_demo("--keep", "--format=json") as process:
        assert process.stdout is not None
        result = json.loads(process.stdout.readline())
        read_until(process, "It stays up")
        question = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
        url = f"{result['gateway_url']}/v1/chat/completions"
        answer = httpx.post(url, json=question | {"model": result["model"]}, timeout=30)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert answer.status_code == 200
    assert answer.headers["x-proa-engine"] in ("main", "aux")
    assert result["errors"] == []
    assert all(speed > 0 for speed in result["tokens_per_s"].values())
    used = [sum(kind["by_engine"][name] for kind in result["answers"]) for name in ("main", "aux")]
    assert all(used), "both engines answered"
    assert [line["tokens"] for line in result["added_latency"]] == [50, 200]
    assert (process.returncode, told) == (0, "Everything is stopped.\n")
    with pytest.raises(httpx.ConnectError):
        httpx.get(result["engines"][0]["url"])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_middle_stops_everything(number: signal.Signals, code: int) -> None:
    with running_demo() as process:
        read_until(process, "the gateway answers at")
        process.send_signal(number)
        shown, told = process.communicate(timeout=30)
    assert (process.returncode, shown, told) == (code, "", "Everything is stopped.\n")


def test_a_missing_model_file_is_wrong_input(tmp_path: Path) -> None:
    with running_demo("--gguf", str(tmp_path / "none.gguf")) as process:
        _, told = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "none.gguf: no such file; accepted is a GGUF model" in told


def test_an_engine_that_fails_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    with running_demo("--gguf", str(tmp_path / "bad.gguf")) as process:
        _, told = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "before it was ready; its last lines:" in told


def test_the_listen_address() -> None:
    assert listen_of("127.0.0.1:8080") == "127.0.0.1:8080"
    assert listen_of(None).startswith("127.0.0.1:")
    assert not listen_of("localhost:0").endswith(":0")
    for bad in ("here", "unix:/tmp/a.sock", "a:99999"):
        with pytest.raises(InputError, match=r"--listen .*: accepted is"):
            listen_of(bad)
