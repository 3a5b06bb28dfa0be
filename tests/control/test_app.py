"""The control plane's pages, over ASGI."""

import asyncio
import hashlib
import time

import httpx
import msgspec
import pytest

from proa.control.app import control_app
from proa.control.settings import AdminKeySpec, ControlSettings
from proa.domain.fleet import EngineKind, EngineState, EngineView, FleetView
from proa.domain.load import CacheView, EngineLoad, EngineLoadView, LoadView
from proa.domain.outcome import Outcome
from proa.engines.models import bare_model
from proa.telemetry.process import GatewayView, ProcessView, ReloadView, WorkerView
from proa.telemetry.rows import Engine, Header, SharedRows, engine_base

OPEN = ControlSettings()
KEYED = ControlSettings(
    keys=tuple(
        AdminKeySpec(name=key, digest=hashlib.sha256(key.encode()).digest()) for key in ("k1", "k2")
    ),
    other_digests=(hashlib.sha256(b"team").digest(),),
)


def gateway(
    state: EngineState = EngineState.READY, *, alive: bool = True, draining: bool = False
) -> GatewayView:
    rows = SharedRows.create(2)
    rows.use(1)
    main = EngineView(
        name="main",
        kind=EngineKind.VLLM,
        state=state,
        models=(bare_model("tiny"),),
        models_known=True,
    )
    fresh = EngineView(name="fresh", kind=EngineKind.AUTO, state=EngineState.UNKNOWN)
    return GatewayView(
        rows=rows,
        engine_slots={"main": 4},
        key_slots={"team": 0},
        tenant_slots={"sales": 2},
        fleet=FleetView(9, (main, fresh)),
        process=ProcessView(
            generation=3,
            workers=(WorkerView(index=1, pid=77, generation=2, alive=alive, refused="no log"),),
            draining=draining,
            last_reload=ReloadView(at_s=5.0, error="proa.toml: no"),
        ),
        version="1.2.3",
    )


def get(
    path: str,
    *,
    view: GatewayView | None = None,
    settings: ControlSettings = OPEN,
    peer: str | None = "127.0.0.1",
    host: str = "127.0.0.1:8081",
    authorization: str | None = None,
    method: str = "GET",
) -> httpx.Response:
    newest = view or gateway()
    app = control_app(lambda: newest, lambda: settings)
    client = (peer, 1234) if peer is not None else None
    headers = {"host": host} | ({"authorization": authorization} if authorization else {})

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=client)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            return await http.request(method, path, headers=headers)

    return asyncio.run(ask())


def test_healthz_while_the_process_lives() -> None:
    down = gateway(EngineState.UNREACHABLE, alive=False, draining=True)
    assert get("/healthz", view=down, settings=KEYED, peer="10.0.0.9").status_code == 200


@pytest.mark.parametrize(
    ("view", "reasons"),
    [
        (gateway(), []),
        (gateway(draining=True), ["the gateway is draining"]),
        (gateway(alive=False), ["no worker is alive"]),
        (gateway(EngineState.LOADING), ["no engine is ready"]),
        (gateway(EngineState.UNKNOWN), ["no engine is ready"]),
        (
            gateway(EngineState.UNREACHABLE, alive=False),
            ["no worker is alive", "no engine is ready"],
        ),
    ],
)
def test_readyz_gives_its_reasons(view: GatewayView, reasons: list[str]) -> None:
    response = get("/readyz", view=view, settings=KEYED, peer="10.0.0.9")
    assert response.status_code == (503 if reasons else 200)
    assert response.json() == {"ready": not reasons, "reasons": reasons}


def test_metrics_are_prometheus_text() -> None:
    response = get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    assert 'proa_engine_up{engine="main"} 1.0' in response.text


def test_status_tells_all_parts() -> None:
    view = gateway()
    row = view.rows.rows[1]
    row[engine_base(4) + Engine.IN_FLIGHT] = 2
    row[engine_base(4) + Engine.BREAKER] = 2
    row[engine_base(4) + Engine.OUTCOME + Outcome.BROKEN] = 6
    row[Header.OPEN_EXCHANGES] = 3
    status = msgspec.convert(get("/admin/status", view=view).json(), dict[str, object])
    assert status["version"] == "1.2.3"
    assert status["generation"] == 3
    assert status["last_reload"] == {
        "at_s": 5.0,
        "succeeded": False,
        "error": "proa.toml: no",
        "warnings": [],
    }
    (worker,) = msgspec.convert(status["workers"], list[dict[str, object]])
    assert (worker["pid"], worker["generation"], worker["open_exchanges"]) == (77, 2, 3)
    assert worker["refused"] == "no log"
    main, fresh = msgspec.convert(status["engines"], list[dict[str, object]])
    assert main["models"] == ["tiny"]
    assert main["in_flight"] == 2
    assert main["breaker"] == {"1": "open"}
    assert msgspec.convert(main["outcomes"], dict[str, int])["broken"] == 6
    assert (fresh["state"], fresh["models"]) == ("unknown", None)
    assert status["keys"] == [{"name": "team", "in_flight": 0, "requests": 0}]
    refused = dict.fromkeys(("cap", "model", "route", "rate", "quota", "budget"), 0)
    sales = {"name": "sales", "in_flight": 0, "queued": 0, "requests": 0, "refused": refused}
    assert status["tenants"] == [sales]


@pytest.mark.parametrize("path", ["/metrics", "/admin/status"])
@pytest.mark.parametrize(
    ("peer", "host", "allowed"),
    [
        ("127.0.0.1", "127.0.0.1:8081", True),
        ("127.0.0.1", "localhost:8081", True),
        ("::1", "[::1]:8081", True),
        ("::ffff:127.0.0.1", "localhost", True),
        ("", "anything", True),
        (None, "anything", True),
        ("10.0.0.9", "127.0.0.1:8081", False),
        ("127.0.0.1", "rebound.example.org:8081", False),
        ("127.0.0.1", "localhost.example.org", False),
    ],
)
def test_without_keys_only_this_machine(
    path: str, peer: str | None, host: str, *, allowed: bool
) -> None:
    assert get(path, peer=peer, host=host).status_code == (200 if allowed else 403)


def test_insecure_lets_everybody_in() -> None:
    assert (
        get("/metrics", settings=ControlSettings(insecure=True), peer="10.0.0.9").status_code == 200
    )


@pytest.mark.parametrize("path", ["/metrics", "/admin/status"])
@pytest.mark.parametrize("peer", ["127.0.0.1", "10.0.0.9"])
@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("Bearer k1", 200),
        ("bearer k2", 200),
        ("Bearer k3", 401),
        ("Bearer team", 403),
        ("Bearer ", 401),
        ("Basic k1", 401),
        ("k1", 401),
        (None, 401),
    ],
)
def test_with_keys_everybody_needs_one(
    path: str, peer: str, authorization: str | None, status: int
) -> None:
    response = get(path, settings=KEYED, peer=peer, authorization=authorization)
    assert response.status_code == status
    if status == 401:
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["error"]["type"] == "authentication_error"


def test_an_admin_key_that_has_ended_opens_nothing_and_leaves_it_closed() -> None:
    ended = msgspec.structs.replace(KEYED.keys[0], expires_s=time.time() - 1.0)
    lasting = msgspec.structs.replace(KEYED.keys[1], expires_s=time.time() + 3600.0)
    settings = msgspec.structs.replace(KEYED, keys=(ended, lasting))
    assert get("/metrics", settings=settings, authorization="Bearer k1").status_code == 401
    assert get("/metrics", settings=settings, authorization="Bearer k2").status_code == 200
    only = msgspec.structs.replace(KEYED, keys=(ended,))
    assert get("/metrics", settings=only).status_code == 401


@pytest.mark.parametrize(("key", "status"), [("k2", 200), ("team", 403), ("k3", 401), ("", 401)])
async def test_a_key_may_come_as_x_api_key(key: str, status: int) -> None:
    transport = httpx.ASGITransport(control_app(gateway, lambda: KEYED))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/metrics", headers={"x-api-key": key})
    assert answer.status_code == status
    if status == 401:
        assert "Authorization: Bearer KEY or x-api-key: KEY" in answer.json()["error"]["message"]
    if status == 403:
        assert answer.json()["error"]["code"] == "forbidden"


def test_nothing_else_is_served() -> None:
    assert get("/admin").status_code == 404
    assert get("/metrics", method="POST").status_code == 405
    assert get("/healthz", method="HEAD").status_code == 200


def test_the_load_of_an_engine_is_told_and_what_is_unknown_is_null() -> None:
    told = EngineLoad(at_s=4.0, running=3, kv_use=0.0)
    cache = CacheView(cached_tokens=None, evicted_tokens_total=16, cleared_total=2, lost_total=1)
    engine = EngineLoadView(name="main", load=told, foreign=1, max_concurrent=8, cache=cache)
    loads = LoadView(7, (engine,))
    view = msgspec.structs.replace(gateway(), loads=loads, now_s=4.25)
    main, fresh = get("/admin/status", view=view).json()["engines"]
    assert main["load"] == {
        "age_s": 0.25, "running": 3, "waiting": None, "kv_use": 0.0, "kv_tokens": None,
        "prefix_hit_rate": None, "preemptions_total": None, "adapters_running": None,
        "adapters_max": None, "sleeping": None,
    }  # fmt: skip
    assert main["cache"] == {
        "cached_tokens": None, "evicted_tokens_total": 16, "cleared_total": 2, "lost_total": 1,
    }  # fmt: skip
    assert fresh["cache"] is None
    assert (main["foreign"], main["max_concurrent"]) == (1, 8)
    assert main["context_tokens"] == {"tiny": None}
    assert (fresh["load"], fresh["foreign"], fresh["max_concurrent"]) == (None, None, None)
    assert (fresh["version"], fresh["adapters"], fresh["flags"]) == (None, None, {})
    assert main["kind"] == "vllm"
    assert main["notices_closed_client_within_s"] == {"stream": 0.05, "whole": 0.05}
