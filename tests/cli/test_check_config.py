"""`proa check-config`: what was understood, or everything that is wrong."""

import json
from pathlib import Path

import pytest

from proa.cli.main import main

GOOD = """\
[[engines]]
name = "main"
url = "http://10.0.0.10:30000"
api_key_env = "MAIN_KEY"

[[engines]]
name = "aux"
url = "http://10.0.0.11:30000"
models = ["qwen3-8b"]

[[routes]]
name = "short"
match = { max_input_tokens = 50, headers = { x-team = "a" } }
prefer = ["aux"]
overflow = ["main"]
overflow_when = { in_flight = 4, predicted_wait_s = 2.5 }
fallback_on = [503, 429]
"""


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MAIN_KEY", "sk-secret")
    path = tmp_path / "proa.toml"
    path.write_text(GOOD)
    return str(path)


def test_a_good_file_is_shown_as_understood(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-config", good]) == 0
    out = capsys.readouterr().out
    assert "gateway  127.0.0.1:8080 (http, open to all, workers: 1)" in out
    assert "main    http://10.0.0.10:30000  auto  discovered" in out
    assert "short  max_input_tokens=50 header x-team  aux     main from 4 in flight or 2.5 s" in out
    assert "further" not in out
    assert "secret" not in out


def test_json_has_stable_keys_and_no_secret(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-config", good, "--format", "json"]) == 0
    out = capsys.readouterr().out
    assert "secret" not in out
    told = json.loads(out)
    assert set(told) == {
        "ok", "file", "gateway", "control", "policy", "engines", "discovery", "models", "routes",
        "tenants", "guard", "contract", "warnings",
    }  # fmt: skip
    assert told["engines"][0]["api_key"] is True
    (route,) = told["routes"]
    assert route["match"] == {"max_input_tokens": 50, "headers": {"x-team": "a"}}
    assert route["fallback_on"] == [429, 503]


def test_the_guards_rules_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proa.toml"
    path.write_text(
        "[[engines]]\nname = 'main'\nurl = 'http://127.0.0.1:1'\n"
        "[guard]\nkeep_on = ['main']\n[guard.types]\nemail = 'off'\n"
        "[[routes]]\nname = 'chat'\nguard = { mode = 'block', max_output_tokens = 9 }\n"
    )
    assert main(["check-config", str(path), "--format", "json"]) == 0
    guard = json.loads(capsys.readouterr().out)["guard"]
    assert guard["modes"]["email"] == "off"
    assert guard["routes"]["chat"]["mode"] == "block"
    assert main(["check-config", str(path)]) == 0
    out = capsys.readouterr().out
    assert "mask corporate_number=count email=off keep_on=main" in out
    assert "guard (chat)" in out
    assert "max_output_tokens=9" in out


def test_a_bad_file_is_told_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proa.toml"
    path.write_text("[gatewy]\n[limits]\npool_idle_s = 0\n")
    assert main(["check-config", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 3
    assert main(["check-config", str(path), "--format", "json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    assert {fault["key"] for fault in told["faults"]} == {"gatewy", "limits.pool_idle_s", "engines"}
    assert set(told["faults"][0]) == {"file", "line", "key", "shown", "problem", "accepted"}


def test_insecure_is_accepted_here_too(tmp_path: Path) -> None:
    path = tmp_path / "proa.toml"
    path.write_text('[gateway]\nlisten = "0.0.0.0:80"\n[[engines]]\nname = "a"\nurl = "http://h"\n')
    assert main(["check-config", str(path)]) == 2
    assert main(["check-config", str(path), "--insecure"]) == 0


def test_places_where_engines_are_looked_for_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proa.toml"
    path.write_text('[[discovery]]\nname = "pool"\nkind = "dns"\naddress = "h.example:8000"\n')
    assert main(["check-config", str(path)]) == 0
    assert "pool       dns   h.example:8000" in capsys.readouterr().out


def test_tenants_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proa.toml"
    (tmp_path / "keys.toml").touch()
    gateway = '[gateway]\napi_keys_file = "keys.toml"\n[[engines]]\nname = "a"\nurl = "http://h"\n'
    path.write_text(gateway + '[[tenants]]\nname = "sales"\n[[tenants]]\nname = "it"\n')
    assert main(["check-config", str(path), "--lang", "ko"]) == 0
    assert "테넌트" in (told := capsys.readouterr().out)
    assert "sales, it" in told
    assert main(["check-config", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["tenants"] == ["sales", "it"]


def test_what_a_route_sets_and_what_it_can_never_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proa.toml"
    path.write_text(
        '[[engines]]\nname = "a"\nurl = "http://h"\n'
        '[[routes]]\nname = "all"\nmodel = "m"\nfallback_models = ["n", "o"]\n'
        'priority = "bulk"\nmax_wait_s = 3\n[[routes]]\nname = "none"\n'
    )
    assert main(["check-config", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "model=m fallback_models=n,o priority=bulk max_wait_s=3" in out
    assert err.startswith(f"warning: {path}:10: routes[1] is never reached: ")
    assert main(["check-config", str(path), "--format", "json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert "is never reached" in warning


def test_the_promise_is_told(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(good).read_text(encoding="utf-8")
    promise = "sessions = 24\nmean_input_tokens = 8000\nuser_tokens_per_s = 30\nttft_p95_s = 2\n"
    Path(good).write_text(f"{text}\n[contract]\n{promise}", encoding="utf-8")
    assert main(["check-config", good]) == 0
    line = (
        "  contract  24 sessions, 8,000 tokens of input, 30 tokens/s for each user, TTFT P95 2 s\n"
    )
    assert line in capsys.readouterr().out
    assert main(["check-config", good, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["contract"]
    assert (told["sessions"], told["rule"], told["extend_above"]) == (24, "per_request", None)


def test_korean(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns stand below each other where letters are two columns wide."""
    text = Path(good).read_text(encoding="utf-8")
    promise = "sessions = 24\nmean_input_tokens = 8000\nuser_tokens_per_s = 30\n"
    Path(good).write_text(f"{text}\n[contract]\n{promise}", encoding="utf-8")
    assert main(["check-config", good, "--lang", "ko"]) == 0
    out = capsys.readouterr().out
    assert "  게이트웨이  127.0.0.1:8080 (http, 누구나 접근 가능, 워커 1개)\n" in out
    assert "  계약        세션 24개, 평균 입력 8,000토큰, 사용자당 30 tok/s\n" in out
    assert "aux        main (처리 중 4개 또는 예상 대기 2.5초 이상)\n" in out
