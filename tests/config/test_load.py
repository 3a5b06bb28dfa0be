"""What a proa.toml becomes, and that every wrong one is a ConfigError that says where."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from proa.config import fields
from proa.config.faults import ConfigFaults
from proa.config.keys_edit import NewKey, add_key
from proa.config.load import Flags, load
from proa.domain.fleet import EngineKind
from proa.errors import ConfigError
from proa.routing.spec import MatchSpec, OverflowSpec, PolicyName

FULL = """\
[gateway]
listen = "127.0.0.1:9000"
workers = 2
trusted_proxies = ["10.0.0.0/8", "::1"]
heartbeat_s = 15

[control]
listen = "unix:/run/proa/control.sock"
poll_interval_s = 1

[[engines]]
name = "main"
url = "http://10.0.0.10:30000/"
kind = "vllm"
models = ["qwen3-14b"]
weight = 3
api_key_env = "MAIN_KEY"

[[engines]]
name = "aux"
url = "unix:/run/aux.sock"
server = "small"

[[models]]
name = "qwen3-14b"
quality = 3.86

[[routes]]
name = "chat"
match = { path = "/api/*", headers = { X-Team = "sales" }, max_input_tokens = 50 }
rewrite_path = "/v1/chat/completions"
model = "qwen3-14b"
prefer = ["main"]
overflow = ["aux"]
overflow_when = { in_flight = 4 }
min_quality = 3.5
fallback_on = [429, 503]

[policy]
name = "weighted"

[cors]
allow_origins = ["https://app.example.com"]

[logs]
path = "log/proa.jsonl"
requests = false

[limits]
pool_idle_s = 2.5

[admission]
retry_budget = 0.2

[breaker]
failures = 5
"""

MINIMAL = '[[engines]]\nname = "main"\nurl = "http://127.0.0.1:8000"\n'


def written(directory: Path, text: str) -> Path:
    path = directory / "proa.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(
    directory: Path,
    text: str,
    flags: Flags = Flags(),  # noqa: B008 frozen
    environ: Mapping[str, str] | None = None,
) -> list[str]:
    path = written(directory, text)
    with pytest.raises(ConfigFaults) as caught:
        load(path, flags, environ or {})
    return [str(fault).removeprefix(str(path)) for fault in caught.value.faults]


def only_fault(directory: Path, text: str, **more: Any) -> str:
    found = faults(directory, text, **more)
    assert len(found) == 1, found
    return found[0]


def test_a_full_file_becomes_settings(tmp_path: Path) -> None:
    config = load(written(tmp_path, FULL), environ={"MAIN_KEY": "sk-main"})
    gateway = config.gateway
    assert (gateway.listen, gateway.workers, gateway.heartbeat_s) == ("127.0.0.1:9000", 2, 15.0)
    assert gateway.trusted_proxies == ("10.0.0.0/8", "::1/128")
    main, aux = gateway.engines
    assert (main.url, main.kind, main.api_key) == (
        "http://10.0.0.10:30000",
        EngineKind.VLLM,
        "sk-main",
    )
    assert (main.server, aux.server, aux.kind) == ("main", "small", EngineKind.AUTO)
    (route,) = gateway.routing.routes
    assert route.match == MatchSpec(
        path="/api/*", headers=(("x-team", "sales"),), max_input_tokens=50
    )
    assert route.overflow_when == OverflowSpec(in_flight=4)
    assert route.fallback_on == frozenset({429, 503})
    assert gateway.routing.policy is PolicyName.WEIGHTED
    assert gateway.routing.weights == {"main": 3.0, "aux": 1.0}
    assert gateway.routing.breaker.failures == 5
    assert gateway.limits.pool_idle_s == 2.5
    assert gateway.limits.stall_timeout_s == 60.0
    assert gateway.logs.path == str(tmp_path / "log/proa.jsonl")
    assert gateway.retry_budget == 0.2
    assert gateway.keys is None
    assert config.control.engines == gateway.engines
    assert config.control.listen == "unix:/run/proa/control.sock"
    assert config.files == (tmp_path / "proa.toml",)


def test_a_file_may_name_engines_alone(tmp_path: Path) -> None:
    config = load(written(tmp_path, MINIMAL), environ={})
    assert config.gateway.listen == "127.0.0.1:8080"
    assert config.control.listen == "127.0.0.1:8081"
    assert config.gateway.limits == type(config.gateway.limits)()


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    assert load(written(tmp_path, "\ufeff" + MINIMAL), environ={}).gateway.engines


def test_an_empty_tls_table_asks_for_nothing(tmp_path: Path) -> None:
    assert load(written(tmp_path, MINIMAL + "[tls]\n"), environ={}).gateway.tls is None


def test_zero_workers_is_one_for_each_core(tmp_path: Path) -> None:
    config = load(written(tmp_path, MINIMAL + "[gateway]\nworkers = 0\n"), environ={})
    assert config.gateway.workers == len(os.sched_getaffinity(0))


def test_engines_on_the_command_line_need_no_file() -> None:
    flags = Flags(engines=("10.0.0.1:8000", "aux=https://aux.example:8443"), listen="127.0.0.1:9")
    config = load(None, flags, {})
    assert [(e.name, e.url) for e in config.gateway.engines] == [
        ("engine-1", "http://10.0.0.1:8000"),
        ("aux", "https://aux.example:8443"),
    ]
    assert config.gateway.listen == "127.0.0.1:9"
    assert config.files == ()


def test_a_wrong_flag_is_told_as_the_flag(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r'^command line: --listen = "8080": accepted is HOST:PORT'
    ):
        load(written(tmp_path, MINIMAL), Flags(listen="8080"), {})


@pytest.mark.parametrize("engine", ["bad=foo", "foo", "[::1]"])
def test_a_bare_word_is_no_engine(engine: str) -> None:
    word = engine.rpartition("=")[2]
    with pytest.raises(ConfigError) as told:
        load(None, Flags(engines=(engine,)), {})
    assert str(told.value).startswith(f'command line: --engine = "{word}": accepted is HOST:PORT, ')


@pytest.mark.parametrize(
    ("route", "told"),
    [
        ('prefer = "main"\noverflow = ["main"]', 'routes[0].prefer = "main": accepted is a list'),
        (
            'prefer = ["main"]\noverflow = "main"\noverflow_when = { in_flight = 1 }',
            'routes[0].overflow = "main": accepted is a list',
        ),
    ],
)
def test_a_wrong_form_is_told_once(tmp_path: Path, route: str, told: str) -> None:
    assert told in only_fault(tmp_path, f'{MINIMAL}[[routes]]\nname = "r"\n{route}\n')


def test_known_names_are_told_once(tmp_path: Path) -> None:
    text = '[[engines]]\nname = "a"\nurl = "http://h"\n' * 2
    path = written(tmp_path, f'{text}[[routes]]\nname = "r"\nprefer = ["zzz"]\n')
    with pytest.raises(ConfigError, match=r"known are a$"):
        load(path, environ={})


def test_all_faults_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    text = """\
[gateway]
listen = "8080"
worker = 2

[[engines]]
name = "main"
url = "ftp://10.0.0.10"

[[engines]]
name = "main"
kind = "vlm"

[[routes]]
name = "faq"
prefer = ["mian"]
fallback_on = [200]
"""
    listen = 'HOST:PORT, "[::]:8080" for IPv6, or "unix:/absolute/path"'
    url = "http://HOST:PORT, https://HOST:PORT or unix:/absolute/path"
    kinds = "'auto', 'vllm', 'sglang', 'tgi', 'triton', 'llamacpp', 'ollama' or 'openai'"
    assert set(faults(tmp_path, text)) == {
        f':2: gateway.listen = "8080": accepted is {listen}',
        ':3: gateway.worker is not a known key: did you mean "workers"?',
        f':7: engines[0].url = "ftp://10.0.0.10": accepted is {url}',
        ":9: engines[1].url is missing: every [[engines]] needs it",
        f':11: engines[1].kind = "vlm": accepted is one of {kinds}',
        ':10: engines[1].name = "main": engines[0] has the same, each needs its own',
        ':15: routes[0].prefer[0] = "mian": no engine has this name; did you mean "main"?',
        ":16: routes[0].fallback_on[0] = 200: accepted is a number from 400",
    }


@pytest.mark.parametrize(
    ("addition", "told"),
    [
        ("[gateway]\nworkers = true", "gateway.workers = true: accepted is a whole number"),
        ("[gateway]\nworkers = -1", "gateway.workers = -1: accepted is a number from 0"),
        ("[gateway]\nlisten = 8080", "gateway.listen = 8080: accepted is a string"),
        ("[control]\npoll_interval_s = inf", "poll_interval_s = inf: accepted is a finite number"),
        (
            "[limits]\npool_idle_s = 0",
            "limits.pool_idle_s = 0: accepted is a number greater than 0",
        ),
        (
            "[limits]\nmax_body_bytes = 1e6",
            "limits.max_body_bytes = 1000000.0: accepted is a whole",
        ),
        ("[limits]\nbody_budget_bytes = 10", "body_budget_bytes = 10: max_body_bytes at most"),
        ("[breaker]\nopen_s = 60", "breaker.open_s = 60: open_s at most max_open_s, 30.0"),
        ("[admission]\nretry_budget = 1.5", "retry_budget = 1.5: accepted is a number up to 1"),
        ("[cors]\nallow_origins = '*'", 'cors.allow_origins = "*": accepted is a list'),
        ("[cors]\nallow_origins = ['https://a/b']", 'accepted is "*" or an origin such as'),
        ("[policy]\nsession_load_factor = 0.5", "load_factor = 0.5: accepted is a number from 1"),
        ("[classifier]\nmodel = 'none.json'", "none.json: cannot be read"),
        ("[classifier]", "classifier.model is missing: [classifier] needs it"),
        (
            "[[adapters]]\nname = 'a'\nmodel = 'm'\npath = 'p'",
            'loaded by [policy] name = "lora" only',
        ),
        ("[policy]\nname = 'fastest'", "accepted is one of 'expected_finish'"),
        ("[logs]\nformat = 'xml'", "logs.format = \"xml\": accepted is one of 'json'"),
        ("[tls]\ncert_file = 'a.pem'", "tls.key_file is missing: [tls] needs it"),
        ("[[engine]]\nname = 'x'", 'engine is not a known key: did you mean "engines"?'),
        (
            "[[models]]\nname = 'm'\nquality = 'high'",
            'models[0].quality = "high": accepted is a num',
        ),
        ("[gateway]\ntrusted_proxies = ['10.0.0.1/8']", 'did you mean "10.0.0.0/8"?'),
        (
            "[control]\nlisten = '127.0.0.1:8080'\n[gateway]\nlisten = '127.0.0.1:8080'",
            "another add",
        ),
        (
            "[routes]\nname = 'x'",
            "routes = {…}: accepted is an array of tables, each under [[routes]]",
        ),
    ],
)
def test_a_wrong_value_is_told_with_what_is_accepted(
    tmp_path: Path, addition: str, told: str
) -> None:
    assert told in only_fault(tmp_path, MINIMAL + addition)


@pytest.mark.parametrize(
    ("route", "told"),
    [
        ("match = { path = 'api' }", 'match.path = "api": accepted is a path such as'),
        ("match = { path = '/../x' }", 'without ".."'),
        (
            "match = { tenant = 'a' }",
            "tenants are those of API keys: [gateway] api_keys_file is needed",
        ),
        ("match = { pii = true }", "routes[0].match.pii = true: [guard] is needed"),
        ("match = { min_tokens = 9, max_tokens = 8 }", "min_tokens = 9: at most max_tokens, 8"),
        ("match = { class = '' }", 'match.class = "": accepted is a class of requests'),
        ("match = { clas = 'faq' }", 'match.clas is not a known key: did you mean "class"?'),
        ("match = { adapter = 7 }", "match.adapter = 7: accepted is a string"),
        (
            "prefer = ['main']\noverflow = ['aux']\noverflow_when = { predicted_wait_s = 0 }",
            "overflow_when.predicted_wait_s = 0: accepted is a number greater than 0",
        ),
        (
            "prefer = ['main']\noverflow = ['aux']\noverflow_when = { waiting = 0 }",
            "overflow_when.waiting = 0: accepted is a number from 1",
        ),
        (
            "min_quality = 2\nfallback_models = ['s']\n[[models]]\nname = 'm'\nquality = 3",
            'fallback_models[0] = "s": a model that reaches min_quality, 2, under [[models]]',
        ),
        ("rewrite_path = '/v1/chat?x=1'", "rewrite_path"),
        ("overflow = ['main']", "prefer is missing: overflow says who helps out, prefer whom"),
        ("prefer = ['main']\noverflow = ['main']", 'overflow[0] = "main": each engine once'),
        ("prefer = ['main', 'main']", 'prefer[1] = "main": each engine once'),
        ("min_quality = 2.0", "min_quality = 2.0: no model reaches it"),
        ("match = { min_input_tokens = 9, max_input_tokens = 8 }", "at most max_input_tokens, 8"),
        ("match = { headers = { 'a b' = 'x' } }", "accepted is a header's name"),
        ("match = { headers = { A = 'x', a = 'y' } }", "each header once"),
        ("priority = 'urgent'", "routes[0].priority = \"urgent\": accepted is one of 'system'"),
        ("max_wait_s = -1", "routes[0].max_wait_s = -1: accepted is a number from 0"),
    ],
)
def test_a_wrong_route_is_told(tmp_path: Path, route: str, told: str) -> None:
    found = faults(tmp_path, f"{MINIMAL}[[routes]]\nname = 'r'\n{route}\n")
    assert any(told in fault for fault in found), found


def test_a_route_to_a_model_that_its_engines_do_not_list_is_told(tmp_path: Path) -> None:
    text = MINIMAL + 'models = ["qwen3-8b"]\n[[routes]]\nname = "r"\nmodel = "qwen3-9b"\n'
    assert 'no engine of this route has it; did you mean "qwen3-8b"?' in only_fault(tmp_path, text)


@pytest.mark.parametrize("table", ["scaling"])
def test_a_table_of_a_later_version_is_refused_not_ignored(tmp_path: Path, table: str) -> None:
    told = only_fault(tmp_path, MINIMAL + f"[{table}]\n")
    problem = "is not supported by this version of proa"
    assert told == f":4: {table} {problem}: remove it; it would have no effect"


def test_what_is_said_of_an_engine_reaches_both_planes(tmp_path: Path) -> None:
    file = tmp_path / "proa.toml"
    keys = "gpu = 'h100-80gb'\nmetrics_url = 'http://h:8002/metrics'\nmax_concurrent_requests = 7\n"
    keys += "kv_events = 'tcp://h:5557'\n"
    file.write_text(MINIMAL + keys, encoding="utf-8")
    config = load(file, environ={})
    (engine,) = config.control.engines
    assert config.gateway.engines == (engine,)
    told = (engine.gpu, engine.metrics_url, engine.kv_events, engine.max_concurrent_requests)
    assert told == ("h100-80gb", "http://h:8002/metrics", "tcp://h:5557", 7)


@pytest.mark.parametrize(
    ("key", "accepted"),
    [
        ("gpu = 'H100'", 'a GPU as family and memory, such as "rtx-pro-6000-96gb"'),
        ("metrics_url = 'h:8002'", "http://HOST:PORT/metrics"),
        ("metrics_url = 'http://u:p@h:8002/metrics'", "without user and password"),
        ("kv_events = 'tcp://*:5557'", "the engine binds *, proa needs its address"),
        ("max_concurrent_requests = -1", "accepted is a number from 0"),
    ],
)
def test_what_cannot_be_said_of_an_engine(tmp_path: Path, key: str, accepted: str) -> None:
    assert accepted in only_fault(tmp_path, MINIMAL + key)


def test_kv_events_need_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "find_spec", lambda name: None)
    told = only_fault(tmp_path, MINIMAL + "kv_events = 'tcp://h:5557'\n")
    assert told == (
        ':4: engines[0].kv_events = "tcp://h:5557": '
        'accepted is "" without pyzmq, which comes with proa\'s extra "kv-events"'
    )
    file = written(tmp_path, MINIMAL + "kv_events = ''\n")
    assert load(file, environ={}).control.engines[0].kv_events == ""


def test_no_engine_is_a_fault(tmp_path: Path) -> None:
    assert only_fault(tmp_path, "") == (
        ": engines is missing: at least one [[engines]] with a name and a url is needed"
    )


def test_more_engines_than_counters_are_a_fault(tmp_path: Path) -> None:
    text = "".join(f'[[engines]]\nname = "e{i}"\nurl = "http://h:1"\n' for i in range(257))
    assert "accepted are up to 256 engines, not 257" in only_fault(tmp_path, text)


@pytest.mark.parametrize("name", ["", "a b", "주엔진", "a\\nb", "-a", "x" * 65])
def test_names_go_into_headers(tmp_path: Path, name: str) -> None:
    text = f'[[engines]]\nname = "{name}"\nurl = "http://h:1"\n'
    assert "accepted is 1 to 64 of A-Z" in only_fault(tmp_path, text)


class TestSecrets:
    def test_a_key_in_the_place_of_a_variable_is_not_printed(self, tmp_path: Path) -> None:
        told = only_fault(tmp_path, MINIMAL + 'api_key_env = "sk-very-secret"\n')
        assert "secret" not in told
        assert "not the key itself" in told

    def test_a_key_that_could_be_a_variable_is_not_printed(self, tmp_path: Path) -> None:
        told = only_fault(tmp_path, MINIMAL + 'api_key_env = "hf_secretsecret"\n')
        assert "hf_" not in told

    def test_an_unset_variable_is_named(self, tmp_path: Path) -> None:
        told = only_fault(tmp_path, MINIMAL + 'api_key_env = "MAIN_KEY"\n')
        assert told.startswith(
            ':4: engines[0].api_key_env = "MAIN_KEY" is not set: the name of a variable'
        )

    def test_a_variable_that_fits_no_header_is_refused_unprinted(self, tmp_path: Path) -> None:
        text = MINIMAL + 'api_key_env = "MAIN_KEY"\n'
        told = only_fault(tmp_path, text, environ={"MAIN_KEY": "secret\r\nx: y"})
        assert "holds no usable key" in told
        assert "secret" not in told

    @pytest.mark.parametrize(
        "url", ["http://me:secret@h:1", "http://h:1/?key=secret", "//me:secret@h"]
    )
    def test_credentials_in_an_address_are_cut(self, tmp_path: Path, url: str) -> None:
        assert "secret" not in only_fault(tmp_path, f'[[engines]]\nname = "m"\nurl = "{url}"\n')

    def test_values_of_unknown_keys_and_headers_are_not_printed(self, tmp_path: Path) -> None:
        text = (
            MINIMAL
            + "api_key = 'secret'\n[[routes]]\nname = 'r'\nmatch = { headers = { a = ' secret' } }"
        )
        assert "secret" not in "".join(faults(tmp_path, text))


class TestPublicAddresses:
    PUBLIC = '[gateway]\nlisten = "0.0.0.0:8080"\n'
    CONTROL = '[control]\nlisten = "[::]:8081"\n'

    def test_one_without_keys_is_refused(self, tmp_path: Path) -> None:
        assert only_fault(tmp_path, MINIMAL + self.PUBLIC) == (
            ':5: gateway.listen = "0.0.0.0:8080" can be reached from other machines: it needs '
            "[gateway] api_keys_file, a loopback address, or --insecure"
        )

    def test_insecure_allows_it(self, tmp_path: Path) -> None:
        path = written(tmp_path, MINIMAL + self.PUBLIC + self.CONTROL)
        config = load(path, Flags(insecure=True), {})
        assert config.gateway.listen == "0.0.0.0:8080"
        assert config.control.insecure

    def test_a_key_file_allows_it(self, tmp_path: Path) -> None:
        add_key(tmp_path / "keys.toml", "team")
        path = written(tmp_path, MINIMAL + self.PUBLIC + 'api_keys_file = "keys.toml"\n')
        config = load(path, environ={})
        assert [key.name for key in config.gateway.keys or ()] == ["team"]
        assert config.control.keys == ()
        assert config.files == (path, tmp_path / "keys.toml")

    def test_control_needs_an_admin_key(self, tmp_path: Path) -> None:
        keys = tmp_path / "keys.toml"
        team_digest = hashlib.sha256(add_key(keys, "team").encode()).digest()
        text = MINIMAL + self.CONTROL + '[gateway]\napi_keys_file = "keys.toml"\n'
        assert 'it needs an API key with role = "admin"' in only_fault(tmp_path, text)
        secret = add_key(keys, "root", NewKey(role="admin"))
        config = load(written(tmp_path, text), environ={})
        assert [key.name for key in config.control.keys] == ["root"]
        assert config.control.admits(secret, now_s=0.0)
        assert not config.control.admits(secret[:-1], now_s=0.0)
        assert config.control.other_digests == (team_digest,)

    @pytest.mark.parametrize(
        "listen", ["localhost:1", "127.9.9.9:1", "[::1]:1", "unix:/run/p.sock"]
    )
    def test_addresses_of_this_machine_need_none(self, tmp_path: Path, listen: str) -> None:
        path = written(tmp_path, MINIMAL + f'[gateway]\nlisten = "{listen}"\n')
        assert load(path, environ={}).gateway.listen == listen

    @pytest.mark.parametrize("listen", ["10.0.0.1:1", "[::]:1", "[::ffff:127.0.0.1]:1", "gpu-1:1"])
    def test_all_others_do(self, tmp_path: Path, listen: str) -> None:
        told = only_fault(tmp_path, MINIMAL + f'[gateway]\nlisten = "{listen}"\n')
        assert "can be reached from other machines" in told


class TestFiles:
    def test_a_missing_file_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"proa\.toml: cannot be read \(No such file"):
            load(tmp_path / "proa.toml", environ={})

    def test_a_missing_key_file_is_told_and_watched(self, tmp_path: Path) -> None:
        path = written(tmp_path, MINIMAL + "[gateway]\napi_keys_file = 'keys.toml'\n")
        with pytest.raises(ConfigFaults, match=r"keys\.toml: cannot be read") as caught:
            load(path, environ={})
        assert caught.value.files == (path, tmp_path / "keys.toml")

    @pytest.mark.parametrize(
        "content", [b"\xff", b"a", b"x = " + b"9" * 5000, b"x = " + b"[" * 5000]
    )
    def test_what_is_not_toml_is_told(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "proa.toml"
        path.write_bytes(content)
        with pytest.raises(ConfigError, match="is not"):
            load(path, environ={})

    def test_a_certificate_that_openssl_refuses_is_told(self, tmp_path: Path) -> None:
        text = MINIMAL + "[tls]\ncert_file = 'c.pem'\nkey_file = 'k.pem'\n"
        assert 'tls.cert_file = "c.pem" cannot be used (No such file' in only_fault(tmp_path, text)
