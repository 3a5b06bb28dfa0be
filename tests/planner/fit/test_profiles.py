"""Which profile a version finds."""

import pytest

from proa.planner.fit.profiles import Version, nearest, parse_version
from proa.planner.fit.vllm_versions import VLLM_VERSIONS


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.19.0", (0, 19, 0)),
        ("v0.11.2+rhai1", (0, 11, 2)),
        ("0.19.1.dev6+g6d4a8e6d2", (0, 19, 1)),
        ("0.29", (0, 29, 0)),
        ("nightly 2025-11-06", None),
        ("2026-08 recipe", None),
    ],
)
def test_versions_as_logs_write_them(text: str, version: Version | None) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("text", "key", "own"),
    [
        ("0.11.0", (0, 11, 0), True),
        ("0.11.2", (0, 11, 1), True),
        ("0.19.1.dev6", (0, 19, 0), True),
        ("0.9.2", (0, 10, 0), False),
        ("0.40.0", (0, 33, 0), False),
        (None, (0, 33, 0), False),
        ("main", (0, 33, 0), False),
    ],
)
def test_the_nearest_profile(text: str | None, key: Version, own: bool) -> None:
    found, _, is_own = nearest(VLLM_VERSIONS, text)
    assert (found, is_own) == (key, own)


def test_every_pinned_version_has_a_profile() -> None:
    assert {(0, minor) for minor in range(11, 34)} <= {key[:2] for key in VLLM_VERSIONS}
