"""The configurations that the project shows are ones that it accepts."""

from pathlib import Path

from proa.cli.demo.fleet import SLOTS, engine_specs, sample_config
from proa.config.load import load

ROOT = Path(__file__).parents[3]


def test_the_demos_configuration_is_valid(tmp_path: Path) -> None:
    urls = {"main": "http://127.0.0.1:9001", "aux": "http://127.0.0.1:9002"}
    text = sample_config(urls, tmp_path, listen="127.0.0.1:9003", control_listen="127.0.0.1:9004")
    (tmp_path / "proa.toml").write_text(text, encoding="utf-8")
    config = load(tmp_path / "proa.toml")
    assert {engine.name: engine.url for engine in config.gateway.engines} == urls
    routes = {route.name: route for route in config.gateway.routing.routes}
    assert (routes["faq"].prefer, routes["faq"].overflow) == (("aux",), ("main",))
    assert (routes["chat"].prefer, routes["chat"].overflow) == (("main",), ("aux",))
    for route in routes.values():
        assert route.overflow_when.in_flight == SLOTS[route.prefer[0]]


def test_the_example_is_valid() -> None:
    config = load(ROOT / "examples" / "proa.toml")
    assert [route.name for route in config.gateway.routing.routes] == [
        "faq",
        "short",
        "report",
        "chat",
    ]


def test_engines_get_their_slots_and_ports(tmp_path: Path) -> None:
    main, aux = engine_specs(tmp_path / "m.gguf", tmp_path, model="m")
    assert "--slots=4" in main.command
    assert "--slots=2" in aux.command
    assert main.ready_url != aux.ready_url
    assert main.cpu is None or main.cpu != aux.cpu
