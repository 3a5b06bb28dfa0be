"""The command line as a whole: verbs, exit codes, what is loaded, how fast help comes."""

import io
import os
import resource
import signal
import statistics
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import proa
from proa.cli import main as cli
from proa.errors import InputError, PromiseError, UpstreamError

SOURCE = Path(proa.__file__).parents[1]


def python(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments], cwd=SOURCE, capture_output=True, text=True, check=False
    )


def with_verb(monkeypatch: pytest.MonkeyPatch, error: BaseException | None, code: int = 0) -> None:
    def run(args: Namespace) -> int:
        if error is not None:
            raise error
        return code

    def configure(parser: ArgumentParser) -> None:
        parser.add_argument("--x")

    module = SimpleNamespace(__doc__="Try.", configure=configure, run=run)
    monkeypatch.setitem(cli.VERBS, "try", ("proa.cli.try_", "try"))
    monkeypatch.setattr(cli, "import_module", lambda name: module)


@pytest.mark.parametrize("verb", cli.VERBS)
def test_each_verb_loads_and_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_module(cli.VERBS[verb][0]).__doc__
    with pytest.raises(SystemExit) as end:
        cli.main([verb, "--help"])
    assert end.value.code == 0
    assert f"usage: proa {verb}" in capsys.readouterr().out


def test_help_lists_the_verbs_and_the_version_is_the_packages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for flag in ("--help", "--version"):
        with pytest.raises(SystemExit) as end:
            cli.main([flag])
        assert end.value.code == 0
    out = capsys.readouterr().out
    assert all(f"  {verb} " in out for verb in cli.VERBS)
    assert out.endswith(f"proa {proa.__version__}\n")


def test_an_unknown_verb_is_told_with_a_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sreve"]) == 2
    assert capsys.readouterr().err == "proa: 'sreve' is no verb of proa: did you mean serve?\n"
    assert cli.main(["xyzzy"]) == 2
    assert "accepted are demo, serve, check-config" in capsys.readouterr().err


def test_no_verb_is_wrong_input_and_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "check-config" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (InputError("bad"), 2, "proa: bad\n"),
        (UpstreamError("gone"), 3, "proa: gone\n"),
        (PromiseError("late"), 4, "proa: late\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_become_exit_codes(
    error: BaseException,
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_verb(monkeypatch, error)
    assert cli.main(["try"]) == code
    assert capsys.readouterr().err == told


def test_a_verbs_own_code_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with_verb(monkeypatch, None, code=4)
    assert cli.main(["try"]) == 4


def test_own_faults_show_where_they_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    with_verb(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        cli.main(["try"])


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as gone:
        ran = subprocess.run(
            [
                sys.executable,
                "-m",
                "proa",
                "keys",
                "list",
                "--file",
                os.devnull,
                "--format",
                "json",
            ],
            cwd=SOURCE,
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
            preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
        )
    assert (ran.returncode, ran.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("verb", "absent"),
    [
        (
            "keys",
            {
                "asyncio",
                "httpx",
                "starlette",
                "uvicorn",
                "uvloop",
                "rich",
                "proa.cli.serve",
            },
        ),
        ("check-config", {"asyncio", "httpx", "starlette", "uvicorn", "uvloop", "proa.cli.keys"}),
        ("serve", {"httpx", "starlette", "uvicorn", "uvloop", "proa.cli.keys"}),
    ],
)
def test_help_of_a_verb_loads_that_verb_alone(verb: str, absent: set[str]) -> None:
    program = (
        "import sys\nfrom proa.cli.main import main\n"
        f"try: main(['{verb}', '--help'])\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    assert absent & set(python("-c", program).stderr.split()) == set()


def test_help_costs_little() -> None:
    """In CPU time, which other programs on the machine do not change much."""
    taken_s = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        python("-m", "proa", "--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert statistics.median(taken_s) < 0.2


def test_python_m_proa_is_proa() -> None:
    ran = python("-m", "proa", "--version")
    assert (ran.returncode, ran.stdout) == (0, f"proa {proa.__version__}\n")


def test_output_is_flushed_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closing(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_WRONLY)

    with_verb(monkeypatch, None)
    monkeypatch.setattr(sys, "stdout", Closing())
    assert cli.main(["try"]) == cli.READER_GONE
