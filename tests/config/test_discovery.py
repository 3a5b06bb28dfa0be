"""`[[discovery]]` in proa.toml: what it becomes, and how a wrong one is told."""

from pathlib import Path

import pytest

from proa.config import discovery
from proa.config.faults import ConfigFaults
from proa.config.load import LoadedConfig, load
from proa.domain.discovery import DiscoveryKind, DiscoverySpec
from proa.domain.fleet import EngineSpec
from proa.errors import ConfigError

DNS = '[[discovery]]\nname = "pool"\nkind = "dns"\naddress = "h.example:8000"\n'


def loaded(directory: Path, text: str, environ: dict[str, str] | None = None) -> LoadedConfig:
    path = directory / "proa.toml"
    path.write_text(text)
    return load(path, environ=environ or {})


def test_each_kind_becomes_a_spec(tmp_path: Path) -> None:
    text = DNS + (
        'engine = { kind = "vllm", weight = 2, api_key_env = "K" }\n'
        '[[discovery]]\nname = "f"\nkind = "file"\npath = "e.json"\ninterval_s = 1\n'
        '[[discovery]]\nname = "k"\nkind = "kubernetes"\nselector = "a=b"\nport = "http"\n'
    )
    config = loaded(tmp_path, text, {"K": "k3y"})
    dns, file, kubernetes = config.control.discovery
    options = {"kind": "vllm", "weight": 2.0, "api_key_env": "K"}
    assert dns == DiscoverySpec(
        name="pool", kind=DiscoveryKind.DNS, address="h.example:8000", engine=options
    )
    assert (file.path, file.interval_s) == (str(tmp_path / "e.json"), 1.0)
    assert (kubernetes.selector, kubernetes.port) == ("a=b", "http")
    assert config.variables == {"K"}
    assert "k3y" not in str(config.control.discovery)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[[discovery]]\nname = "p"\nkind = "dns"',
            'proa.toml:1: discovery[0].address is missing: kind = "dns" needs it',
        ),
        (DNS + 'path = "x"', 'kind = "dns" has address, engine, interval_s, kind, name, record'),
        (DNS.replace(":8000", ""), "a port after a colon"),
        (DNS + 'record = "srv"', "no port: the SRV record has it"),
        (DNS.replace("h.example", "h example"), '"NAME:PORT" for address records'),
        (DNS.replace(":8000", ":99999"), '"NAME:PORT" for address records'),
        (DNS.replace('"dns"', '"consul"'), "accepted is one of 'dns', 'file' or 'kubernetes'"),
        (DNS + DNS, "discovery[0] has the same, each needs its own"),
        (
            DNS + '[[engines]]\nname = "pool"\nurl = "http://h:1"',
            "an engine has this name, each needs its own",
        ),
        (DNS + 'engine = { api_key_env = "UNSET" }', "discovery[0].engine.api_key_env"),
        (DNS + 'engine = { url = "http://h" }', "url is not a known key"),
        (
            '[[discovery]]\nname = "k"\nkind = "kubernetes"\nselector = "a;b"',
            "labels such as",
        ),
    ],
)
def test_a_wrong_one_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigFaults) as refused:
        loaded(tmp_path, text)
    assert told in str(refused.value)


def test_no_engine_is_needed_where_others_may_come(tmp_path: Path) -> None:
    assert loaded(tmp_path, DNS).gateway.engines == ()
    assert loaded(tmp_path, '[control]\nstate_file = "s.json"').gateway.engines == ()
    with pytest.raises(ConfigFaults, match=r"at least one \[\[engines\]\]"):
        loaded(tmp_path, '[control]\nstate_file = ""')


@pytest.mark.parametrize(
    ("text", "name"),
    [("", "proa.state.json"), ('state_file = "a/b"', "a/b"), ('state_file = ""', None)],
)
def test_the_state_file_is_beside_the_file(tmp_path: Path, text: str, name: str | None) -> None:
    config = loaded(tmp_path, f"[control]\n{text}\n{DNS}")
    assert config.state_file == (None if name is None else tmp_path / name)


def test_a_route_may_name_a_place_and_means_its_engines(tmp_path: Path) -> None:
    text = DNS + (
        '[[engines]]\nname = "main"\nurl = "http://h:1"\n'
        '[[routes]]\nname = "r"\nprefer = ["pool"]\noverflow = ["main"]\n'
    )
    config = loaded(tmp_path, text)
    engines = (
        *config.gateway.engines,
        *(EngineSpec(name=f"pool-{n}", url=f"http://h:{n}", weight=n) for n in (2, 3)),
    )
    grouped = config.with_engines(
        engines, draining=frozenset({"pool-2"}), groups={"pool": ("pool-2", "pool-3")}
    )
    (route,) = grouped.gateway.routing.routes
    assert (route.prefer, route.overflow) == (("pool-2", "pool-3"), ("main",))
    assert grouped.gateway.routing.weights == {"main": 1.0, "pool-2": 2.0, "pool-3": 3.0}
    assert grouped.control.engines == grouped.gateway.engines == engines
    assert grouped.control.draining == {"pool-2"}
    assert grouped.files == config.files
    (empty,) = config.with_engines(
        config.gateway.engines, groups={"pool": ()}
    ).gateway.routing.routes
    assert empty.prefer == ("pool",)


def test_srv_records_need_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "find_spec", lambda name: None)
    text = '[[discovery]]\nname = "p"\nkind = "dns"\naddress = "_l._tcp.h"\nrecord = "srv"\n'
    with pytest.raises(ConfigError, match='record = "srv": "a" without dnspython'):
        loaded(tmp_path, text)
