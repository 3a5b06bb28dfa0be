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
    asked = [*limit, "--priority", "interactive", "--tenant", "sales", "--expires", "2099-12-31"]
    main(["keys", "add", "a", "--role", "admin", *asked, "--file", file, "--format", "json"])
    added = json.loads(capsys.readouterr().out)
    main(["keys", "list", "--file", file, "--format", "json"])
    entry = {
        "name": "a",
        "tenant": "sales",
        "role": "admin",
        "max_concurrent_requests": 3,
        "priority": "interactive",
        "created": added["created"],
        "expires": "2100-01-01T00:00:00Z",
        "expired": False,
        "old_key_expires": None,
    }
    assert json.loads(capsys.readouterr().out) == {"file": file, "keys": [entry]}
    assert added == entry | {"key": added["key"], "file": file}
    main(["keys", "rotate", "a", "--grace", "2099-01-01", "--file", file, "--format", "json"])
    rotated = json.loads(capsys.readouterr().out)
    assert rotated["old_key_expires"] == "2099-01-02T00:00:00Z"
    assert rotated["key"] != added["key"]
    main(["keys", "expire", "a", "--at", "2000-01-01", "--file", file, "--format", "json"])
    told = {"name": "a", "file": file, "expires": "2000-01-02T00:00:00Z"}
    assert json.loads(capsys.readouterr().out) == told
    main(["keys", "list", "--file", file, "--format", "json"])
    assert json.loads(capsys.readouterr().out)["keys"][0]["expired"] is True
    main(["keys", "revoke", "a", "--file", file, "--format", "json"])
    assert json.loads(capsys.readouterr().out) == {"name": "a", "file": file}
    assert read_keys(Path(file)) == ()


def test_the_list_tells_what_is_not_usual(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--max-concurrent-requests", "2", "--role", "admin", "--tenant", "it"]
    main(["keys", "add", "a", "--file", file])
    main(["keys", "add", "long-name", *more, "--file", file])
    main(["keys", "add", "old", "--expires", "2020-01-01", "--file", file])
    main(["keys", "rotate", "a", "--grace", "2099-12-31", "--file", file])
    capsys.readouterr()
    assert main(["keys", "list", "--file", file]) == 0
    assert capsys.readouterr().out == (
        "a          the key before it until 2100-01-01T00:00:00Z\n"
        "long-name  tenant it, at most 2 requests at a time, admin\n"
        "old        EXPIRED since 2020-01-02T00:00:00Z\n"
    )


def test_a_rotated_key_is_printed_alone_and_the_old_one_is_told_of(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["keys", "add", "a", "--file", file])
    first = capsys.readouterr().out
    assert main(["keys", "rotate", "a", "--file", file]) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), out == first) == (1, False)
    assert "The key before it has ended." in err
    assert main(["keys", "rotate", "a", "--grace", "1h", "--file", file]) == 0
    assert "The key before it works until 20" in capsys.readouterr().err


@pytest.mark.parametrize("end", [[], ["--at", "1s"], ["--at", "never"]])
def test_a_key_is_ended(file: str, capsys: pytest.CaptureFixture[str], end: list[str]) -> None:
    main(["keys", "add", "a", "--expires", "1d", "--file", file])
    assert main(["keys", "expire", "a", *end, "--file", file]) == 0
    is_never = "never" in end
    assert (read_keys(Path(file))[0].expires_s is None) is is_never
    told = capsys.readouterr().err
    assert ("works without an end" in told) is is_never


def test_a_tenant_that_the_gateway_would_not_know_is_refused(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Path(file).with_name("proa.toml")
    config.write_text(
        '[gateway]\napi_keys_file = "keys.toml"\n[[tenants]]\nname = "sales"\n', encoding="utf-8"
    )
    assert main(["keys", "add", "a", "--tenant", "slaes", "--file", file]) == 2
    told = capsys.readouterr().err
    assert '--tenant "slaes": no [[tenants]] has this name; did you mean "sales"?' in told
    assert not Path(file).exists()
    for tenant in ("sales", "default"):
        assert main(["keys", "add", tenant, "--tenant", tenant, "--file", file]) == 0


@pytest.mark.parametrize("when", ["tomorrow", "2027-01-01T00:00:00", "90"])
def test_a_time_that_nobody_understands_is_refused(
    file: str, capsys: pytest.CaptureFixture[str], when: str
) -> None:
    assert main(["keys", "add", "a", "--expires", when, "--file", file]) == 2
    assert f"--expires {when}: accepted is a time from now (90d" in capsys.readouterr().err
    assert not Path(file).exists()


@pytest.mark.parametrize("action", [["list"], ["revoke", "a"], ["rotate", "a"], ["expire", "a"]])
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
    main(["keys", "add", "team", "--role", "admin", "--max-concurrent-requests", "3", *korean])
    assert "해시만 저장되며" in capsys.readouterr().err
    main(["keys", "list", *korean])
    assert capsys.readouterr().out == "team  동시 요청 최대 3개, 관리자\n"
    main(["keys", "revoke", "team", *korean])
    assert capsys.readouterr().err == f"{file}에서 team 키를 제거했습니다\n"
