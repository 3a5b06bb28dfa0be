"""`[usage]`: where usage is kept with the table and without it, and what is refused."""

from pathlib import Path

import pytest

from proa.config.faults import ConfigFaults
from proa.config.load import Flags, load
from proa.control.settings import UsageSettings

ENGINE = '[[engines]]\nname = "main"\nurl = "http://127.0.0.1:1"\n'
TENANT = '[gateway]\napi_keys_file = "keys.toml"\n[[tenants]]\nname = "sales"\n'
SECRET = "postgresql://proa:secret@db/usage"


def settings(directory: Path, text: str) -> tuple[UsageSettings | None, bool, str]:
    """The keeper's, whether all tenants are counted, and the workers' time zone."""
    (directory / "keys.toml").write_text("", encoding="utf-8")
    file = directory / "proa.toml"
    file.write_text(text + ENGINE, encoding="utf-8")
    loaded = load(file, Flags(), {"USAGE_URL": SECRET, "BAD_URL": "mysql://secret"})
    return loaded.control.usage, loaded.gateway.counts_usage, loaded.gateway.time_zone


def test_it_is_kept_where_the_table_says(tmp_path: Path) -> None:
    usage, counts, zone = settings(tmp_path, '[usage]\ntime_zone = "Asia/Seoul"\n')
    assert usage is not None
    assert (usage.store, usage.is_shared) == (f"sqlite:{tmp_path / 'usage.db'}", False)
    assert (usage.time_zone, zone, counts) == ("Asia/Seoul", "Asia/Seoul", True)
    usage, _, zone = settings(tmp_path, '[usage]\nurl_env = "USAGE_URL"\n')
    assert usage is not None
    assert (usage.store, usage.is_shared, zone) == (SECRET, True, "UTC")
    assert "secret" not in usage.shown
    usage, _, _ = settings(tmp_path, '[usage]\nstore = "redis://cache:6379/3"\n')
    assert usage is not None
    assert usage.is_shared


@pytest.mark.parametrize(
    ("limit", "is_kept"),
    [
        ("", False),
        ("requests_per_minute = 5", False),
        ("tokens_per_day = 0", False),
        ("tokens_per_day = 5", True),
        ("tokens_per_month = 5", True),
        ("budget = { per_month = 1 }", True),
    ],
)
def test_without_the_table_only_what_has_to_outlive_a_restart_is_kept(
    tmp_path: Path, limit: str, is_kept: bool
) -> None:
    usage, counts, _ = settings(tmp_path, f"{TENANT}{limit}\n")
    assert (usage is not None, counts) == (is_kept, False)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('store = "mysql://x"', "sqlite:FILE, postgresql://"),
        ('time_zone = "Mars/Phobos"', "the name of a time zone"),
        ('time_zone = "../../etc/passwd"', "the name of a time zone"),
        ('url_env = "NO_URL"', "is not set"),
        ('url_env = "BAD_URL"', "holds no URL of a store"),
        ('store = "sqlite:x"\nurl_env = "USAGE_URL"', "is beside store"),
        ("days = 3", "usage.days"),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path: Path, table: str, told: str) -> None:
    with pytest.raises(ConfigFaults) as refused:
        settings(tmp_path, f"[usage]\n{table}\n")
    assert told in str(refused.value)
    assert "secret" not in str(refused.value)
