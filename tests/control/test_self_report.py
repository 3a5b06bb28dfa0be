"""What the control plane makes of engines' loads and facts: ages, sources, sleep, the views."""

import asyncio

import httpx
import pytest
from tests.control.engines import FakeEngine, Fleet, models, refused, spec, vllm
from tests.control.virtual_time import run
from tests.engines.recorded import recorded

from proa.control.self_report import ABSENT_FOR_S
from proa.control.settings import ControlSettings
from proa.control.traffic import EngineTraffic
from proa.domain.fleet import EngineKind, EngineSpec, EngineState, EngineView
from proa.domain.load import EngineLoadView


def page(running: int, waiting: int, awake: int = 1) -> bytes:
    return (
        f"vllm:num_requests_running {running}\nvllm:num_requests_waiting {waiting}\n"
        f'vllm:engine_sleep_state{{sleep_state="awake"}} {awake}\n'
    ).encode()


def load_of(fleet: Fleet, name: str) -> EngineLoadView:
    (view,) = [engine for engine in fleet.audience.loads[-1].engines if engine.name == name]
    return view


def view_of(fleet: Fleet, name: str) -> EngineView:
    view = fleet.registry.fleet.engine(name)
    assert view is not None
    return view


async def polled(fleet: Fleet, name: str = "a", count: int = 1) -> EngineLoadView:
    """After so many polls, and the view that follows them."""
    for _ in range(count):
        await fleet.registry.poll(name)
        await asyncio.sleep(0.1)
    return load_of(fleet, name)


def test_a_view_follows_each_poll() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = page(3, 2)
        fleet.traffic["a"] = EngineTraffic(in_flight=4)
        view = await polled(fleet)
        assert view.load is not None
        assert (view.load.running, view.load.waiting, view.foreign) == (3, 2, 1)
        assert view.load.at_s == 1000.0
        assert [v.sequence for v in fleet.audience.loads] == [1]
        await polled(fleet, count=2)
        assert [v.sequence for v in fleet.audience.loads] == [1, 2, 3]
        assert len(fleet.published) == 1  # a load is no change of the fleet

    run(main())


def test_polls_at_one_moment_make_one_view() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m"), "b": vllm("m")})
        await asyncio.gather(fleet.registry.poll("a"), fleet.registry.poll("b"))
        await asyncio.sleep(0.1)
        (view,) = fleet.audience.loads
        assert [engine.name for engine in view.engines] == ["a", "b"]

    run(main())


def test_g53_an_engine_without_metrics_has_no_load_and_takes_traffic() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = b""
        view = await polled(fleet, count=4)
        assert (view.load, view.foreign) == (None, 0)
        assert fleet.state("a") is EngineState.READY
        fleet.engines["a"].answers["/metrics"] = page(1, 0)
        await asyncio.sleep(2)
        assert (await polled(fleet)).load is not None

    run(main())


def test_g71_metrics_on_another_port_and_one_log_line_per_change() -> None:
    async def main() -> None:
        here = EngineSpec(name="a", url="http://a:8000", kind=EngineKind.TRITON)
        fleet = Fleet({"a": FakeEngine(v2__health__ready=b"", v2__repository__index=b"[]")}, here)
        assert (await polled(fleet, count=20)).load is None
        unknown = [line for line in fleet.messages() if "load" in line]
        assert unknown == ["a: engine's load is not known"]
        asked = [r.url.path for r in fleet.engines["a"].asked]
        assert asked.count("/metrics") == 1  # not at every poll

        there = EngineSpec(
            name="a", url="http://a:8000", kind=EngineKind.TRITON,
            metrics_url="http://a:8002/metrics", api_key="secret",
        )  # fmt: skip
        fleet = Fleet({"a": FakeEngine(v2__health__ready=b"", v2__repository__index=b"[]")}, there)
        fleet.engines["a"].answers["/metrics"] = b'nv_inference_pending_request_count{m="x"} 4\n'
        view = await polled(fleet, count=3)
        assert view.load is not None
        assert (view.load.running, view.load.waiting) == (None, 4)
        scrapes = [r for r in fleet.engines["a"].asked if r.url.port == 8002]
        assert len(scrapes) == 3
        assert "authorization" not in scrapes[0].headers  # the key is the API's own
        assert [line for line in fleet.messages() if "load" in line] == []

    run(main())


@pytest.mark.parametrize(
    ("metrics", "is_told"),
    [(b"", True), (httpx.Response(404), True), (httpx.ReadTimeout("slow"), False)],
)
def test_how_load_is_switched_on_is_told_of_a_page_without_it_only(
    metrics: bytes | httpx.Response | Exception, *, is_told: bool
) -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = metrics
        assert (await polled(fleet, count=20)).load is None
        (line,) = [line for line in fleet.sink.lines if b"load is not known" in line]
        assert (b"leave out --disable-log-stats" in line) is is_told

    run(main())


def test_a_metrics_url_that_is_no_engine_leaves_the_engine_its_own_page() -> None:
    """A GPU exporter: none of the engine's names is there."""

    async def main() -> None:
        gpu = EngineSpec(
            name="a", url="http://a:8000", kind=EngineKind.VLLM, metrics_url="http://a:9400/gpu"
        )
        engine = vllm("m")
        engine.answers |= {"/gpu": b"DCGM_FI_DEV_GPU_UTIL 3\n", "/metrics": page(2, 0)}
        view = await polled(Fleet({"a": engine}, gpu), count=2)
        assert view.load is not None
        assert view.load.running == 2

    run(main())


def test_g72_an_engine_that_falls_silent_is_unknown_and_not_idle() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = page(0, 0)
        assert (await polled(fleet)).load is not None
        fleet.engines["a"].answers["/metrics"] = httpx.Response(503)
        await asyncio.sleep(1.6)
        assert (await polled(fleet)).load is None
        await polled(fleet, count=3)
        assert [m for m in fleet.messages() if "load" in m] == ["a: engine's load is not known"]
        fleet.engines["a"].answers["/metrics"] = page(1, 0)
        assert (await polled(fleet)).load is not None
        assert fleet.messages()[-1] == "a: engine tells its load"

    run(main())


def test_g73_one_late_answer_leaves_the_load_and_the_engine() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = page(1, 0)
        await polled(fleet)
        fleet.engines["a"].answers["/metrics"] = 30.0  # does not answer in time
        view = await polled(fleet)
        assert view.load is not None
        assert view.load.running == 1
        assert fleet.state("a") is EngineState.READY

    run(main())


def test_one_hung_page_does_not_delay_others() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m"), "b": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = 3600.0
        fleet.registry.start()
        await asyncio.sleep(10)
        polls = [r for r in fleet.engines["b"].asked if r.url.path == "/metrics"]
        assert len(polls) >= 18
        assert load_of(fleet, "b").load is not None
        assert load_of(fleet, "a").load is None
        await fleet.registry.close()

    run(main())


def test_a_page_over_eight_megabytes_is_no_load() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = page(1, 0) + b"# fill\n" * 1_300_000
        assert (await polled(fleet)).load is None

    run(main())


def test_what_an_engine_lacks_is_asked_for_again_later() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        del fleet.engines["a"].answers["/metrics"]
        await polled(fleet, count=5)
        fleet.engines["a"].answers["/metrics"] = page(1, 0)
        assert (await polled(fleet)).load is None
        await asyncio.sleep(ABSENT_FOR_S)
        assert (await polled(fleet)).load is not None

    run(main())


def test_a_sleeping_vllm_gets_no_traffic_and_is_not_woken() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = page(0, 0, awake=0)
        await polled(fleet, count=3)
        assert fleet.state("a") is EngineState.SLEEPING
        assert not EngineState.SLEEPING.takes_traffic
        assert {r.method for r in fleet.engines["a"].asked} == {"GET"}
        fleet.engines["a"].answers["/metrics"] = page(0, 0)
        await polled(fleet)
        assert fleet.state("a") is EngineState.READY

    run(main())


def llamacpp(**more: bytes) -> FakeEngine:
    engine = FakeEngine(
        v1__models=models("m", owner="llamacpp"),
        health=b'{"status":"ok"}',
        props=recorded("llamacpp/props").body,
        metrics=recorded("llamacpp/metrics_after_load").body,
    )
    engine.answers |= {f"/{path}": body for path, body in more.items()}
    return engine


def test_a_sleeping_llama_cpp_is_only_asked_what_does_not_wake_it() -> None:
    """It wakes by itself with the next request, so it stays in the game."""

    async def main() -> None:
        props = recorded("llamacpp/props").body
        asleep = props.replace(b'"is_sleeping":false', b'"is_sleeping":true')
        fleet = Fleet({"a": llamacpp(props=asleep)})
        view = await polled(fleet, count=8)
        asked = {r.url.path for r in fleet.engines["a"].asked}
        assert asked == {"/v1/models", "/health", "/props"}
        assert fleet.state("a") is EngineState.READY
        assert view.load is not None
        assert (view.load.is_sleeping, view.load.running) == (True, None)

    run(main())


def test_a_llama_cpp_router_is_not_asked_for_its_load() -> None:
    async def main() -> None:
        engine = llamacpp()
        engine.answers["/v1/models"] = models("m", owner="llamacpp", status={"value": "unloaded"})
        fleet = Fleet({"a": engine})
        assert (await polled(fleet, count=8)).load is None
        assert "/metrics" not in {r.url.path for r in engine.asked}
        assert "/slots" not in {r.url.path for r in engine.asked}

    run(main())


def test_llama_cpp_is_left_alone_for_a_second_between_looks_at_its_load() -> None:
    """Each look wakes whoever waits in it, and puts off its check for clients that have gone."""

    async def main() -> None:
        fleet = Fleet({"a": llamacpp()})
        times = []
        for _ in range(24):
            view = await polled(fleet)
            times += [asyncio.get_running_loop().time()] * (view.load is not None)
            await asyncio.sleep(0.5)
        looks = [r.url.path for r in fleet.engines["a"].asked].count("/metrics")
        assert len(times) == 24
        assert 12 / 2.0 <= looks <= 12 / 1.5

    run(main())


def test_slots_stand_in_where_metrics_are_off() -> None:
    async def main() -> None:
        engine = llamacpp(slots=recorded("llamacpp/slots_idle").body)
        engine.answers["/metrics"] = httpx.Response(501)
        view = await polled(Fleet({"a": engine}), count=2)
        assert view.load is not None
        assert (view.load.running, view.load.waiting) == (0, None)

    run(main())


def test_facts_and_the_stated_limit() -> None:
    async def main() -> None:
        fleet = Fleet({"a": llamacpp()})
        load = await polled(fleet)
        view = view_of(fleet, "a")
        assert (view.version, view.max_running) == ("b0-unknown", 4)
        assert [model.context_tokens for model in view.models] == [2048]
        assert load.max_concurrent == 4
        assert load.load is not None
        assert load.load.kv_tokens == 8192

    run(main())


def test_a_configured_limit_wins() -> None:
    async def main() -> None:
        own = EngineSpec(name="a", url="http://a", max_concurrent_requests=9)
        assert (await polled(Fleet({"a": llamacpp()}, own))).max_concurrent == 9

    run(main())


def test_adapters_come_from_the_list_of_models() -> None:
    async def main() -> None:
        engine = vllm("m")
        engine.answers["/v1/models"] = recorded("vllm/lora_v1_models").body
        fleet = Fleet({"a": engine})
        await polled(fleet)
        adapters = view_of(fleet, "a").adapters
        assert adapters is not None
        assert [(adapter.name, adapter.parent) for adapter in adapters] == [("ad1", "tiny")]
        assert [model.context_tokens for model in view_of(fleet, "a").models] == [1024, 1024]

    run(main())


def test_an_engine_that_went_away_leaves_no_load_behind() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        fleet.engines["a"].answers["/metrics"] = page(7, 0)
        await polled(fleet)
        fleet.engines["a"].down = refused()
        view = await polled(fleet)
        assert (view.load, view.foreign) == (None, 0)
        assert view_of(fleet, "a").version == ""

    run(main())


@pytest.mark.parametrize(
    ("old", "used"),
    [
        ("/get_load", b'[{"dp_rank":0,"num_reqs":3,"num_waiting_reqs":1,"num_tokens":9}]'),
        ("/get_server_info", b'{"internal_states":[{"load":{"num_reqs":3,"num_waiting_reqs":1}}]}'),
    ],
)
def test_older_sglangs_are_asked_where_they_tell(old: str, used: bytes) -> None:
    async def main() -> None:
        engine = FakeEngine(v1__models=models("m", owner="sglang"))
        engine.answers[old] = used
        view = await polled(Fleet({"a": engine}), count=3)
        assert view.load is not None
        assert (view.load.running, view.load.waiting) == (2, 1)
        asked = [r.url.path for r in engine.asked]
        assert (asked.count("/v1/loads"), asked.count(old)) == (1, 3)
        assert not {path for path in asked if path.startswith("/health")}

    run(main())


def test_a_reload_with_another_metrics_url_is_another_watch() -> None:
    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        await polled(fleet)
        moved = EngineSpec(name="a", url="http://a:8000", metrics_url="http://a:1/metrics")
        fleet.registry.reload(ControlSettings(engines=(moved,)))
        assert fleet.opened == ["a", "a", "a"]
        fleet.registry.reload(ControlSettings(engines=(spec("a"),)))
        assert len(fleet.opened) == 4

    run(main())


def test_slow_answers_keep_a_load_known() -> None:
    """Health and load take 0.9 s each, and polls go on at their pace."""

    async def main() -> None:
        fleet = Fleet({"a": vllm("m")})
        slow = fleet.engines["a"]
        slow.answers["/metrics"] = page(2, 0)
        slow.delay_s = 0.9
        fleet.registry.start()
        await asyncio.sleep(20)
        views = [view.engines[0] for view in fleet.audience.loads[3:]]
        assert len(views) >= 12
        assert all(view.load is not None for view in views)
        await fleet.registry.close()

    run(main())
