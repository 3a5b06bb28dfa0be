"""The line that `proa serve` begins with."""

from pathlib import Path

import msgspec
import pytest

from proa.cli.serve.welcome import welcome
from proa.config.load import Flags, load


@pytest.mark.parametrize(
    ("listen", "client"),
    [
        ("127.0.0.1:8080", "export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=any"),
        ("0.0.0.0:80", "export OPENAI_BASE_URL=http://127.0.0.1:80/v1 OPENAI_API_KEY=any"),
        ("[::]:80", "export OPENAI_BASE_URL=http://127.0.0.1:80/v1 OPENAI_API_KEY=any"),
        ("unix:/run/p.sock", "curl --unix-socket /run/p.sock http://localhost/v1/models"),
    ],
)
def test_it_points_a_client_at_the_gateway(listen: str, client: str, tmp_path: Path) -> None:
    config = load(None, Flags(engines=("main=http://10.0.0.1:8000",)), {})
    told = welcome(config, [listen], "127.0.0.1:8081", "en")
    assert told.endswith(f"control on http://127.0.0.1:8081, engines main (http://10.0.0.1:8000); "
                         f"point a client here: {client}")  # fmt: skip
    keyed = msgspec.structs.replace(config.gateway, keys=())
    told = welcome(
        msgspec.structs.replace(config, gateway=keyed), [listen], "unix:/run/c.sock", "en"
    )
    assert "OPENAI_API_KEY=any" not in told
    assert "control on unix:/run/c.sock" in told


def test_korean() -> None:
    config = load(None, Flags(engines=("main=http://10.0.0.1:8000",)), {})
    told = welcome(config, ["127.0.0.1:8080"], "127.0.0.1:8081", "ko")
    assert told == (
        "proa: 게이트웨이 http://127.0.0.1:8080, 제어 http://127.0.0.1:8081, "
        "엔진 main (http://10.0.0.1:8000); 클라이언트 연결: "
        "export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=any"
    )
