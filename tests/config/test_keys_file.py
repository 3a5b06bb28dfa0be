"""keys.toml, read and changed."""

import hashlib
from pathlib import Path

import pytest

from proa.config.keys_file import add_key, read_keys, remove_key
from proa.errors import ConfigError

GOOD = "sha256:" + "ab" * 32


def test_an_added_key_is_long_and_kept_as_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    key = add_key(path, "team-a", max_concurrent_requests=4)
    assert key.startswith("proa-")
    assert len(key) >= len("proa-") + 32
    assert key not in path.read_text()
    (spec,) = read_keys(path)
    assert spec.digest == hashlib.sha256(key.encode()).digest()
    assert (spec.name, spec.max_concurrent_requests, spec.admin) == ("team-a", 4, False)
    assert path.stat().st_mode & 0o777 == 0o600


def test_adding_and_removing_leaves_the_rest_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    text = f'# our keys\n[[keys]]\nname = "old"   # since spring\nhash = "{GOOD}"\n'
    path.write_text(text)
    add_key(path, "new", admin=True)
    add_key(path, "newer")
    remove_key(path, "new")
    assert path.read_text().startswith(text)
    assert [key.name for key in read_keys(path)] == ["old", "newer"]
    remove_key(path, "newer")
    remove_key(path, "old")
    assert read_keys(path) == ()
    assert path.read_text().startswith("# our keys\n")
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_exists_once(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    add_key(path, "a")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match='has a key "a": another name, or remove that key first'):
        add_key(path, "a")
    with pytest.raises(ConfigError, match=r'^new key: name = "x y": accepted is 1 to 64'):
        add_key(path, "x y")
    with pytest.raises(ConfigError, match=r"^new key: max_concurrent_requests = -1: accepted"):
        add_key(path, "b", max_concurrent_requests=-1)
    with pytest.raises(ConfigError, match="accepted is 1 to 64"):
        add_key(path, 'a"\nadmin = true')
    assert path.read_bytes() == before


def test_an_unknown_name_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    add_key(path, "a")
    with pytest.raises(ConfigError, match='has no key "b": known are a'):
        remove_key(path, "b")


def test_inline_tables_are_read_but_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(f'keys = [{{ name = "a", hash = "{GOOD}" }}]\n')
    assert [key.name for key in read_keys(path)] == ["a"]
    with pytest.raises(ConfigError, match="remove it with an editor"):
        remove_key(path, "a")


A = f'name = "a"\nhash = "{GOOD}"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'name = "a"\nhash = "proa-plain-key"',
            r"keys\[0\].hash = \(hidden\): accepted is \"sha256:",
        ),
        ('name = "a"', r"keys\[0\].hash is missing: every \[\[keys\]\] needs it"),
        (A + "admin = 1", "admin = 1: accepted is true or false"),
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


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written \(No such file"):
        add_key(tmp_path / "missing" / "keys.toml", "a")
