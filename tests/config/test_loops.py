"""Engines at the gateway's own address, as far as that is certain."""

from pathlib import Path

import pytest

from proa.config.load import load
from proa.config.loops import leads_back
from proa.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "listen", "is_own"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True),
        ("http://127.0.0.1", "127.0.0.1:80", True),
        ("https://gpu.lan/llm", "GPU.lan:443", True),
        ("http://[::1]:9", "[::]:9", True),
        ("http://localhost:9", "0.0.0.0:9", True),
        ("unix:/run/p.sock", "unix:/run/p.sock", True),
        ("http://127.0.0.1:8080", "127.0.0.1:8081", False),
        ("http://10.0.0.1:9", "0.0.0.0:9", False),
        ("http://localhost:9", "127.0.0.1:9", False),
        ("http://127.0.0.1:9", "127.0.0.1:0", False),
        ("unix:/run/p.sock", "127.0.0.1:9", False),
        ("http://h:x", "h:80", False),
    ],
)
def test_only_what_is_certain(url: str, listen: str, *, is_own: bool) -> None:
    assert leads_back(url, listen) is is_own


@pytest.mark.parametrize(("table", "port"), [("gateway", 9000), ("control", 8081)])
def test_such_an_engine_is_refused(tmp_path: Path, table: str, port: int) -> None:
    path = tmp_path / "proa.toml"
    path.write_text(
        f'[gateway]\nlisten = "127.0.0.1:9000"\n[[engines]]\nname = "a"\n'
        f'url = "http://127.0.0.1:{port}"\n'
    )
    with pytest.raises(ConfigError, match=rf"engines\[0\]\.url = .*than {table}\.listen"):
        load(path, environ={})
