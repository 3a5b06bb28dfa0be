"""keys.toml, read."""

from pathlib import Path

import pytest

from proa.config.keys_file import read_keys
from proa.errors import ConfigError

GOOD = "sha256:" + "ab" * 32


A = f'name = "a"\nhash = "{GOOD}"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'name = "a"\nhash = "proa-plain-key"',
            r"keys\[0\].hash = \(hidden\): accepted is \"sha256:",
        ),
        ('name = "a"', r"keys\[0\].hash is missing: every \[\[keys\]\] needs it"),
        (A + "admin = true", r"keys\[0\].admin is not a key any more: write role = \"admin\""),
        (A + 'role = "root"', "role = \"root\": accepted is one of 'user' or 'admin'"),
        (A + "expires = 2027-01-31T00:00:00", "expires = 2027-01-31 00:00:00: accepted is a date"),
        (A + 'expires = "2027-01-31"', "accepted is a date .* without quotes"),
        (A + f'old_hash = "{GOOD}"', "old_expires is missing: old_hash and old_expires belong"),
        (A + "old_expires = 2027-01-31", "old_hash is missing: old_hash and old_expires belong"),
        (A + 'old_hash = "proa-plain-key"', r"old_hash = \(hidden\): accepted is"),
        (A + "tokens = 1", "tokens is not a known key: known are name"),
        (A + f'[[keys]]\nname = "a"\nhash = "sha256:{"1" * 64}"', "name is there twice"),
        (A + f'[[keys]]\nname = "b"\nhash = "{GOOD}"', "hash is there twice"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(f"[[keys]]\n{text}\n")
    with pytest.raises(ConfigError, match=told) as caught:
        read_keys(path)
    assert "proa-plain-key" not in str(caught.value)


def test_a_tenant_that_is_not_known_is_told_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(f'[[keys]]\n{A}tenant = "slaes"\n')
    assert read_keys(path)[0].tenant == "slaes"
    told = f'^{path}:4: keys\\[0\\].tenant = "slaes": no \\[\\[tenants\\]\\] has this name; '
    with pytest.raises(ConfigError, match=told + r'did you mean "sales"\?$'):
        read_keys(path, ["sales", "default"])
    with pytest.raises(ConfigError, match=told + "known are it, default$"):
        read_keys(path, ["it", "default"])


def test_a_key_without_a_tenant_belongs_to_the_default_one(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(f"[[keys]]\n{A}expires = 2027-01-31\n")
    (key,) = read_keys(path, ["default"])
    assert (key.tenant, key.admin, key.expires_s) == ("default", False, 1_801_440_000.0)
