"""The published speeds that the shipped profiles stand for, in virtual time."""

import pytest
from tests.emulator.profiles import asked

from proa.catalog.gpus import find_gpu
from proa.catalog.step_times import catalogue_timing
from proa.config.profile_file import shipped_profiles
from proa.emulator.virtual import replay

SHIPPED = shipped_profiles()
KV_BYTES_PER_TOKEN = {
    "Qwen/Qwen3-8B": 2 * 36 * 8 * 128 * 2,
    "Qwen/Qwen3-14B": 2 * 40 * 8 * 128 * 2,
}
"""2 x layers x KV heads x head dimension x 2 bytes, from the models' config.json."""


@pytest.mark.parametrize(
    ("name", "users", "tokens_per_s"),
    [
        ("rtx-pro-6000-8b", 20, 1582),
        ("rtx-5060-ti-8b", 1, 76),
        ("rtx-5060-ti-8b", 20, 760),
        ("rtx-pro-6000-14b", 20, 1049),
        ("rtx-5060-ti-14b", 20, 326),
    ],
)
def test_published_tokens_per_second(name: str, users: int, tokens_per_s: float) -> None:
    ended = replay(SHIPPED[name], [(0.0, asked(1, 500))] * users)
    last_s = ended[-1].finished_s
    assert last_s is not None
    assert users * 500 / last_s == pytest.approx(tokens_per_s, rel=0.003)


@pytest.mark.parametrize(
    ("name", "base_ms", "per_sequence_ms"),
    [
        ("rtx-pro-6000-8b", 6.35, 0.314),
        ("rtx-5060-ti-8b", 12.5, 0.69),
        ("rtx-pro-6000-14b", 10.4, 0.433),
        ("rtx-5060-ti-14b", 24.0, 1.87),
    ],
)
@pytest.mark.parametrize("users", [1, 10, 40])
def test_each_token_takes_the_published_step(
    name: str, base_ms: float, per_sequence_ms: float, users: int
) -> None:
    """TPOT of `users` that decode together: base + per_sequence x users."""
    ended = replay(SHIPPED[name], [(0.0, asked(1, 200))] * users)
    for sequence in ended:
        assert sequence.finished_s is not None
        assert sequence.first_token_s is not None
        tpot_ms = (sequence.finished_s - sequence.first_token_s) / 199 * 1e3
        assert tpot_ms == pytest.approx(base_ms + per_sequence_ms * users)


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("rtx-pro-6000-8b", "rtx-pro-6000-96gb"),
        ("rtx-5060-ti-8b", "rtx-5060-ti-16gb"),
        ("rtx-pro-6000-14b", "rtx-pro-6000-96gb"),
        ("rtx-5060-ti-14b", "rtx-5060-ti-16gb"),
    ],
)
def test_shipped_profiles_and_the_catalogue_agree(name: str, gpu: str) -> None:
    timing = catalogue_timing(gpu, SHIPPED[name].model)
    assert timing is not None
    assert SHIPPED[name].step == timing.step
    row = find_gpu(gpu)
    kv_bytes = SHIPPED[name].kv_tokens * KV_BYTES_PER_TOKEN[SHIPPED[name].model]
    assert 0 < kv_bytes < row.usable_bytes


@pytest.mark.parametrize("profile", SHIPPED.values(), ids=lambda profile: profile.name)
def test_every_shipped_profile_names_its_source(profile: object) -> None:
    assert "measurement" in getattr(profile, "source")  # noqa: B009
