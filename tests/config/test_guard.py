"""[guard] and the words of routes and tenants on it: read into settings, refused with reasons."""

from pathlib import Path

import pytest

from proa.config.keys_edit import NewKey, add_key
from proa.config.load import load
from proa.errors import ConfigError
from proa.guard.detectors import DetectorSpec
from proa.guard.policy import GuardSettings, GuardSpec

BASE = """\
[gateway]
api_keys_file = "keys.toml"
[[engines]]
name = "main"
url = "http://127.0.0.1:1"
"""
OWN = "[[guard.detectors]]\nname = 'x'\npattern = 'a'\n"
FULL = """\
[guard]
mode = "token"
answers = false
keep_on = ["main"]
media = "block"
max_input_tokens = 10
max_output_tokens = 20
blocked_patterns = ["(?i)secret"]
allowed_tools = ["search"]
language = "en"
[guard.types]
email = "off"
staff = "count"
[[guard.detectors]]
name = "staff"
pattern = 'E-[0-9]{6}'
checksum = "luhn"
context = ["사번"]
label = "사번"
mode = "mask"
[[routes]]
name = "chat"
guard = { mode = "block", types = { email = "mask" } }
match = { pii = true }
[[tenants]]
name = "sales"
guard = { allowed_tools = [], keep_on = ["main"] }
"""


def written(tmp_path: Path, more: str) -> Path:
    path = tmp_path / "proa.toml"
    path.write_text(BASE + more, encoding="utf-8")
    if not (tmp_path / "keys.toml").exists():
        add_key(tmp_path / "keys.toml", "anna", NewKey())
    return path


def test_all_of_it_becomes_settings(tmp_path: Path) -> None:
    gateway = load(written(tmp_path, FULL), environ={}).gateway
    staff = DetectorSpec(
        name="staff", pattern="E-[0-9]{6}", checksum="luhn", context=("사번",), label="사번",
        mode="mask",
    )  # fmt: skip
    assert gateway.guard == GuardSettings(
        mode="token",
        answers=False,
        keep_on=("main",),
        media="block",
        max_input_tokens=10,
        max_output_tokens=20,
        blocked_patterns=("(?i)secret",),
        allowed_tools=("search",),
        language="en",
        types={"email": "off", "staff": "count"},
        detectors=(staff,),
    )
    assert gateway.route_guards == {"chat": GuardSpec(mode="block", types={"email": "mask"})}
    assert gateway.tenant_guards == {"sales": GuardSpec(allowed_tools=(), keep_on=("main",))}
    assert gateway.routing.routes[0].match.pii is True


def test_without_the_table_there_is_none(tmp_path: Path) -> None:
    assert load(written(tmp_path, ""), environ={}).gateway.guard is None
    assert load(written(tmp_path, "[guard]\n"), environ={}).gateway.guard == GuardSettings()


def test_keep_on_may_name_a_discovery(tmp_path: Path) -> None:
    found = "[[discovery]]\nname = 'here'\nkind = 'file'\npath = 'e.json'\n"
    config = load(written(tmp_path, found + "[guard]\nkeep_on = ['here', 'main']\n"), environ={})
    engines = config.gateway.engines
    guard = config.with_engines(engines, groups={"here": ("here-1", "here-2")}).gateway.guard
    assert guard is not None
    assert guard.keep_on == ("here-1", "here-2", "main")
    guard = config.with_engines(engines, groups={"here": ()}).gateway.guard
    assert guard is not None
    assert guard.keep_on == ("here", "main")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[guard]\nkeep_on = ['mian']", 'guard.keep_on[0] = "mian": no engine has this name; did'),
        ("[guard]\ntypes = { emial = 'mask' }", 'no type has this name; did you mean "email"'),
        ("[guard]\nmode = 'hide'", "accepted is one of 'off', 'count', 'mask', 'token' or 'block'"),
        ("[guard]\nblocked_patterns = ['(?=a)b']", "guard.blocked_patterns[0]"),
        ("[[guard.detectors]]\nname = 'x'\npattern = '(a)\\1'", "guard.detectors[0].pattern"),
        ("[[guard.detectors]]\nname = 'email'\npattern = 'a'", "guard.detectors[0].name"),
        ("[[guard.detectors]]\nname = 'x'\npattern = 'a'\nchecksum = 'md5'", "one of"),
        ("[[guard.detectors]]\nname = 'x'\npattern = 'a'\nlabel = 'a_b'", "without [ ] _"),
        (
            OWN + OWN,
            "guard.detectors[0] has the same",
        ),
        ("[[routes]]\nname = 'r'\nguard = { mode = 'off' }", "routes[0].guard"),
        ("[[routes]]\nname = 'r'\nmatch = { pii = true }", "routes[0].match.pii"),
        ("[guard]\n[[routes]]\nname = 'r'\nguard = { keep_on = ['x'] }", "routes[0].guard.keep_on"),
        (
            "[guard]\n[[tenants]]\nname = 't'\nguard = { allowed_tool = [] }",
            'did you mean "allowed_tools"',
        ),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(written(tmp_path, text + "\n"), environ={})
    assert told in str(error.value)
    assert "proa.toml" in str(error.value)
