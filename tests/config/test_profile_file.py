"""Profiles of emulated engines: by name, from a file, with flags; and what is refused."""

from pathlib import Path

import pytest

from proa.config.profile_file import load_profile, shipped_profiles
from proa.domain.fleet import EngineKind
from proa.errors import ConfigError, InputError


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_shipped_profiles_are_found_by_name() -> None:
    names = list(shipped_profiles())
    assert names == ["rtx-5060-ti-14b", "rtx-5060-ti-8b", "rtx-pro-6000-14b", "rtx-pro-6000-8b"]
    assert load_profile("rtx-5060-ti-8b", {}) == shipped_profiles()["rtx-5060-ti-8b"]


def test_a_file_needs_a_step_time_and_nothing_more(tmp_path: Path) -> None:
    profile = load_profile(written(tmp_path, "step_base_ms = 5"), {})
    assert (profile.name, profile.source) == ("mine", "the file mine.toml")
    assert (profile.step_base_ms, profile.kind) == (5.0, EngineKind.VLLM)


def test_flags_replace_keys(tmp_path: Path) -> None:
    file = written(tmp_path, 'step_base_ms = 5\nkind = "tgi"')
    profile = load_profile(file, {"kind": "sglang", "max_running": 3})
    assert (profile.kind, profile.max_running) == (EngineKind.SGLANG, 3)


@pytest.mark.parametrize(
    ("text", "key", "accepted"),
    [
        ("step_base_ms = 0", "step_base_ms", "a number greater than 0"),
        ('step_base_ms = "x"', "step_base_ms", "a number"),
        ("step_base_ms = 1\nstep_base_s = 1", "step_base_s", "one of the keys name, source, kind"),
        ('step_base_ms = 1\nkind = "triton"', "kind", "vllm | sglang | tgi | llamacpp"),
        ('step_base_ms = 1\nkind = "nope"', "kind", "one of vllm, sglang, tgi, llamacpp"),
        ("step_base_ms = 1\ncontext = 200000", "context", "at most kv_tokens"),
        ("step_base_ms = 1\nmax_running = 9000", "max_batched_tokens", "at least max_running"),
        ('step_base_ms = 1\nadapters = ["a"]', "adapters", "none without lora_slots"),
        (
            'step_base_ms = 1\nlora_slots = 1\nadapters = ["a b"]',
            "adapters[0]",
            "1 to 128 of A-Z a-z 0-9",
        ),
        ("step_base_ms = 1\nmax_running = 0", "max_running", "a whole number from 1"),
        ("step_base_ms = 1\nmax_running = 1.5", "max_running", "a whole number"),
        ('step_base_ms = 1\nmax_queued = "x"', "max_queued", "a whole number or nothing"),
        ('step_base_ms = 1\nprefix_cache = "x"', "prefix_cache", "true or false"),
        ("step_base_ms = 1\nadapters = 1", "adapters", "a list"),
        ('step_base_ms = 1\nkv = "x"', "kv", "one of contiguous, paged"),
        ("step_base_ms = inf", "step_base_ms", "a finite number"),
    ],
)
def test_a_wrong_value_is_told_with_file_key_and_what_is_accepted(
    tmp_path: Path, text: str, key: str, accepted: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_profile(file, {})
    assert (caught.value.file, caught.value.key) == (file, key)
    assert caught.value.accepted.startswith(accepted)
    assert "Expected" not in caught.value.accepted


@pytest.mark.parametrize(
    ("text", "message"), [("", "step_base_ms is missing"), ("step_base_ms", "no TOML")]
)
def test_a_file_that_is_no_profile(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_profile(written(tmp_path, text), {})


@pytest.mark.parametrize("name", ["nope", "../x", "missing.toml"])
def test_a_profile_that_is_not_there(name: str) -> None:
    with pytest.raises(InputError, match="--profile"):
        load_profile(name, {})
