"""keys.toml, changed by `proa keys`: the rest stays as it is written."""

import hashlib
from pathlib import Path

import pytest

from proa.config.keys_edit import NewKey, add_key, expire_key, revoke_key, rotate_key
from proa.config.keys_file import read_keys
from proa.errors import ConfigError
from proa.routing.admission.priority import Priority

GOOD = "sha256:" + "ab" * 32


def test_an_added_key_is_long_and_kept_as_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    key = add_key(path, "team-a", NewKey(max_concurrent_requests=4))
    assert key.startswith("proa-")
    assert len(key) >= len("proa-") + 32
    assert key not in path.read_text()
    (spec,) = read_keys(path)
    assert spec.digest == hashlib.sha256(key.encode()).digest()
    assert (spec.name, spec.max_concurrent_requests, spec.admin) == ("team-a", 4, False)
    assert path.stat().st_mode & 0o777 == 0o600


def test_adding_and_revoking_leaves_the_rest_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    text = f'# our keys\n[[keys]]\nname = "old"   # since spring\nhash = "{GOOD}"\n'
    path.write_text(text)
    add_key(path, "new", NewKey(role="admin"))
    add_key(path, "newer")
    revoke_key(path, "new")
    assert path.read_text().startswith(text)
    assert [key.name for key in read_keys(path)] == ["old", "newer"]
    revoke_key(path, "newer")
    revoke_key(path, "old")
    assert read_keys(path) == ()
    assert path.read_text().startswith("# our keys\n")
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_exists_once(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    add_key(path, "a")
    before = path.read_bytes()
    with pytest.raises(
        ConfigError, match='has a key "a": another name, or revoke or rotate that key'
    ):
        add_key(path, "a")
    with pytest.raises(ConfigError, match=r'^new key: name = "x y": accepted is 1 to 64'):
        add_key(path, "x y")
    with pytest.raises(ConfigError, match=r"^new key: max_concurrent_requests = -1: accepted"):
        add_key(path, "b", NewKey(max_concurrent_requests=-1))
    with pytest.raises(ConfigError, match="accepted is 1 to 64"):
        add_key(path, 'a"\nadmin = true')
    assert path.read_bytes() == before


def test_an_unknown_name_is_not_revoked(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    add_key(path, "a")
    with pytest.raises(ConfigError, match='has no key "b": known are a'):
        revoke_key(path, "b")


def test_inline_tables_are_read_but_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(f'keys = [{{ name = "a", hash = "{GOOD}" }}]\n')
    assert [key.name for key in read_keys(path)] == ["a"]
    with pytest.raises(ConfigError, match="change it with an editor"):
        revoke_key(path, "a")


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written \(No such file"):
        add_key(tmp_path / "missing" / "keys.toml", "a")


def test_a_key_says_what_it_is_as_far_as_that_is_not_usual(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    add_key(path, "plain")
    asked = NewKey(
        tenant="sales", role="admin", priority=Priority.BULK, created_s=1e9, expires_s=2e9 + 0.5
    )
    add_key(path, "full", asked)
    text = path.read_text()
    assert text.count("tenant") == text.count("role") == text.count("expires") == 1
    assert "created = 2001-09-09T01:46:40Z" in text
    plain, full = read_keys(path)
    assert (plain.tenant, plain.expires_s, plain.created_s) == ("default", None, None)
    assert (full.tenant, full.admin, full.priority) == ("sales", True, Priority.BULK)
    assert (full.created_s, full.expires_s) == (1e9, 2e9)


def test_a_rotated_key_has_another_text_and_a_grace_for_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    digests = [digest(add_key(path, "a", NewKey(tenant="t")))]
    add_key(path, "b")
    other = read_keys(path)[1]
    for until_s in (100.9, None, 300.0, 400.0):
        digests.append(digest(rotate_key(path, "a", old_until_s=until_s)))
        key, kept = read_keys(path)
        assert (key.digest, key.tenant, kept) == (digests[-1], "t", other)
        if until_s is None:
            assert (key.old_digest, key.old_expires_s) == (None, None)
        else:
            assert (key.old_digest, key.old_expires_s) == (digests[-2], int(until_s))
    assert len(set(digests)) == 5


def test_a_key_ends_when_it_is_told_to(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    add_key(path, "a")
    before = path.read_text()
    expire_key(path, "a", 100.0)
    assert read_keys(path)[0].expires_s == 100.0
    expire_key(path, "a", None)
    assert path.read_text() == before
    with pytest.raises(ConfigError, match='has no key "b": known are a'):
        expire_key(path, "b", 1.0)
    with pytest.raises(ConfigError, match='has no key "b": known are a'):
        rotate_key(path, "b", old_until_s=None)


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
