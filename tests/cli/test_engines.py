"""`proa engines` against a scripted admin API: what is asked, shown, and its exit codes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from proa.cli.main import main
from proa.testing.ports import closed_port

ENGINE = {
    "name": "main",
    "url": "http://10.0.0.10:8000",
    "source": "file",
    "kind": "vllm",
    "state": "ready",
    "detail": None,
    "models": ["a", "b", "c"],
    "server": "main",
    "weight": 2.0,
    "max_concurrent_requests": 0,
    "draining": False,
    "leaving": False,
    "changed": ["weight"],
    "in_flight": 3,
}
FLEET = {
    "generation": 4,
    "state_file": "s",
    "state_error": None,
    "engines": [
        ENGINE,
        ENGINE | {"name": "aux", "state": "draining", "leaving": True, "models": None},
    ],
    "discovery": [
        {"name": "pool", "kind": "dns", "engines": [], "seen_at_s": None, "error": "no answer"}
    ],
    "notes": ["one is not used"],
}
CHANGE = {"engine": ENGINE, "generation": 5, "warnings": [], "notes": []}


class Gateway:
    """Gives every request the same answer and keeps what it was asked."""

    def __init__(self, status: int, answer: object) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                gateway.asked.append((self.command, self.path, body))
                gateway.headers.append({k.lower(): v for k, v in self.headers.items()})
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Not on the test's standard error."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @contextmanager
    def up(self) -> Iterator["Gateway"]:
        thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def run(gateway: Gateway, *arguments: str) -> int:
    action, *rest = arguments
    with gateway.up():
        return main(["engines", action, *rest, "--control", gateway.address])


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (("drain", "main"), ("PATCH", "/admin/engines/main", {"draining": True})),
        (("undrain", "main"), ("PATCH", "/admin/engines/main", {"draining": False})),
        (("set-weight", "main", "2"), ("PATCH", "/admin/engines/main", {"weight": 2.0})),
        (
            ("add", "x", "10.0.0.9:8000", "--kind", "vllm", "--model", "a", "--model", "b",
             "--weight", "0.5", "--max-concurrent-requests", "4", "--engine-key-env", "K"),
            ("POST", "/admin/engines", {
                "name": "x", "url": "http://10.0.0.9:8000", "kind": "vllm", "models": ["a", "b"],
                "weight": 0.5, "max_concurrent_requests": 4, "api_key_env": "K"}),
        ),
        (("drain", "../x"), ("PATCH", "/admin/engines/..%2Fx", {"draining": True})),
    ],
)  # fmt: skip
def test_what_is_asked(
    arguments: tuple[str, ...], asked: object, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = Gateway(200, CHANGE)
    assert run(gateway, *arguments, "--lang", "en") == 0
    assert gateway.asked == [asked]
    assert gateway.headers[0]["content-type"] == "application/json"
    assert "main" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "query"),
    [((), ""), (("--now",), "?drain=false"), (("--timeout-s", "90"), "?timeout_s=90")],
)
@pytest.mark.parametrize(("left", "told"), [(0, "has finished"), (2, "2 requests are still")])
def test_removal(
    arguments: tuple[str, ...],
    query: str,
    left: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    removed = {"name": "main", "removed": True, "drained": not left, "requests_left": left}
    gateway = Gateway(200, removed | {"generation": 2, "warnings": [], "notes": []})
    assert run(gateway, "remove", "main", *arguments, "--lang", "en") == 0
    assert gateway.asked == [("DELETE", f"/admin/engines/main{query}", None)]
    assert told in capsys.readouterr().out


def test_the_table_in_two_languages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Gateway(200, FLEET), "list", "--lang", "en") == 0
    english = capsys.readouterr().out
    assert "\x1b" not in english
    header, main_row, aux_row, *remarks = english.splitlines()
    assert header.split() == [
        "engine", "state", "kind", "models", "in", "flight", "weight", "cap", "from", "address",
    ]  # fmt: skip
    assert main_row.split() == [
        "main", "ready", "vllm", "a,", "b", "1", "more", "3", "2", "-", "file",
        "http://10.0.0.10:8000",
    ]  # fmt: skip
    assert "leaving" in aux_row
    assert "not known yet" in aux_row
    assert remarks == [
        "main: changed at runtime: weight",
        "aux: changed at runtime: weight",
        "discovery pool fails: no answer",
        "note: one is not used",
    ]
    assert run(Gateway(200, FLEET), "list", "--lang", "ko") == 0
    korean = capsys.readouterr().out
    assert "처리 중" in korean
    assert "디스커버리 pool 실패: no answer" in korean


def test_json_is_the_answer_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Gateway(200, FLEET), "list", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == FLEET


def test_warnings_end_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {
        "reloaded": True,
        "file": "p.toml",
        "generation": 3,
        "warnings": ["worker 1 keeps"],
        "notes": ["n"],
    }
    assert run(Gateway(200, answer), "reload", "--lang", "en") == 1
    out, err = capsys.readouterr()
    assert (out, err) == (
        "p.toml was read again (generation 3)\nnote: n\n",
        "warning: worker 1 keeps\n",
    )


@pytest.mark.parametrize(
    ("status", "answer", "code", "told"),
    [
        (404, {"error": {"message": "there is no engine 'x'"}}, 2, "there is no engine 'x'"),
        (401, {"error": {"message": "an admin key is needed"}}, 2, "needed; --api-key-env NAME"),
        (500, {"error": {"message": "lost"}}, 1, "lost"),
        (200, b"<html>", 3, "does not answer like the admin API (status 200)"),
        (404, b"not here", 3, "does not answer like the admin API (status 404)"),
    ],
)
def test_refusals_and_failures_have_their_codes(
    status: int, answer: object, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(Gateway(status, answer), "drain", "x") == code
    assert told in capsys.readouterr().err


def test_no_gateway_is_a_3(capsys: pytest.CaptureFixture[str]) -> None:
    with closed_port() as port:
        assert main(["engines", "list", "--control", f"127.0.0.1:{port}"]) == 3
    assert f"no gateway answers at http://127.0.0.1:{port}" in capsys.readouterr().err


def test_address_and_key_from_file_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = Gateway(200, FLEET)
    file = tmp_path / "proa.toml"
    file.write_text(f'[control]\nlisten = "{gateway.address.replace("127.0.0.1", "0.0.0.0")}"\n')
    monkeypatch.setenv("ADMIN", "secret")
    with gateway.up():
        assert main(["engines", "list", "--config", str(file), "--api-key-env", "ADMIN"]) == 0
    assert gateway.headers[0]["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--api-key-env", "UNSET_VARIABLE"), "holds a key"),
        (("--control", "http://"), "--control = 'http://': accepted is"),
        (("--control", "foo"), "--control = 'foo': accepted is HOST:PORT, http://"),
        (("--config", "port0.toml"), "say with --control where it is"),
    ],
)
def test_what_cannot_be_used_is_a_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "port0.toml").write_text('[control]\nlisten = "127.0.0.1:0"\n')
    assert main(["engines", "list", *arguments]) == 2
    assert told in capsys.readouterr().err
