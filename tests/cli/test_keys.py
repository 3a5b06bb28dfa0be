"""`proa keys`: what goes to which stream, and the JSON."""

import json
from pathlib import Path

import pytest

from proa.cli.main import main
from proa.config.keys_file import read_keys


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "keys.toml")


def test_the_key_alone_is_on_standard_output(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "add", "team", "--file", file]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("proa-")
    assert out.count("\n") == 1
    assert f'api_keys_file = "{file}"' in err
    assert out.strip() not in err


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ('[gateway]\napi_keys_file = "keys.toml"\n', False),
        ('[gateway]\napi_keys_file = "others.toml"\n', True),
        ("gateway = 3\n", True),
        ("no toml", True),
    ],
)
def test_what_proa_toml_has_already_it_does_not_need(
    file: str, capsys: pytest.CaptureFixture[str], text: str, *, is_told: bool
) -> None:
    Path(file).with_name("proa.toml").write_text(text)
    assert main(["keys", "add", "team", "--file", file]) == 0
    assert ("proa.toml needs" in capsys.readouterr().err) is is_told


def test_json_has_stable_keys(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    limit = ["--max-concurrent-requests", "3"]
    asked = [*limit, "--priority", "interactive"]
    main(["keys", "add", "a", "--admin", *asked, "--file", file, "--format", "json"])
    added = json.loads(capsys.readouterr().out)
    assert set(added) == {
        "name",
        "key",
        "file",
        "max_concurrent_requests",
        "priority",
        "admin",
    }
    main(["keys", "list", "--file", file, "--format", "json"])
    entry = {
        "name": "a",
        "max_concurrent_requests": 3,
        "priority": "interactive",
        "admin": True,
    }
    assert json.loads(capsys.readouterr().out) == {"file": file, "keys": [entry]}
    main(["keys", "remove", "a", "--file", file, "--format", "json"])
    assert json.loads(capsys.readouterr().out) == {"name": "a", "file": file}
    assert read_keys(Path(file)) == ()


def test_the_list_names_limits(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["keys", "add", "a", "--file", file])
    main(["keys", "add", "long-name", "--max-concurrent-requests", "2", "--admin", "--file", file])
    capsys.readouterr()
    assert main(["keys", "list", "--file", file]) == 0
    assert capsys.readouterr().out == "a\nlong-name  at most 2 requests at a time, admin\n"


@pytest.mark.parametrize("action", [["list"], ["remove", "a"]])
def test_a_missing_file_is_wrong_input(
    action: list[str], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", *action, "--file", file]) == 2
    assert "cannot be read (No such file" in capsys.readouterr().err


def test_a_negative_limit_is_refused_and_nothing_written(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", "add", "a", "--max-concurrent-requests", "-1", "--file", file]) == 2
    assert "accepted is a number from 0" in capsys.readouterr().err
    assert not Path(file).exists()


def test_korean(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    korean = ["--file", file, "--lang", "ko"]
    main(["keys", "add", "team", "--admin", "--max-concurrent-requests", "3", *korean])
    assert "해시만 저장되며" in capsys.readouterr().err
    main(["keys", "list", *korean])
    assert capsys.readouterr().out == "team  동시 요청 최대 3개, 관리자\n"
    main(["keys", "remove", "team", *korean])
    assert capsys.readouterr().err == f"{file}에서 team 키를 제거했습니다\n"
