"""The registry over fake engines, in virtual time."""

import asyncio

import httpx
import msgspec
import pytest
from tests.control.engines import FakeEngine, Fleet, models, refused, spec, vllm
from tests.control.virtual_time import run

from proa.control.settings import ControlSettings
from proa.control.traffic import EngineTraffic
from proa.domain.fleet import EngineKind, EngineSpec, EngineState

LOADING = httpx.Response(
    503, content=b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'
)


def test_an_engine_of_unknown_kind_is_found_out() -> None:
    async def main() -> None:
        ollama = FakeEngine(api__tags=b'{"models":[{"name":"q:8b"}]}')
        triton = FakeEngine(
            v2=b'{"name":"triton","extensions":[]}',
            v2__health__ready=b"",
            v2__repository__index=b'[{"name":"llm","state":"READY"}]',
        )
        fleet = Fleet({"a": vllm("tiny"), "b": ollama, "c": triton, "d": FakeEngine()})
        assert [fleet.state(name) for name in "abcd"] == [EngineState.UNKNOWN] * 4
        for name in "abcd":
            await fleet.registry.poll(name)
        kinds = [view.kind for view in fleet.registry.fleet.engines]
        assert kinds == [EngineKind.VLLM, EngineKind.OLLAMA, EngineKind.TRITON, EngineKind.AUTO]
        assert [fleet.names(name) for name in "abcd"] == [["tiny"], ["q:8b"], ["llm"], []]
        assert [fleet.state(name) for name in "abcd"] == [EngineState.READY] * 4
        known = [view.models_known for view in fleet.registry.fleet.engines]
        assert known == [True, True, True, False]

    run(main())


def test_a_view_is_published_only_on_change() -> None:
    async def main() -> None:
        engine = vllm("tiny")
        fleet = Fleet({"a": engine})
        await fleet.polls("a", 5)
        assert [view.sequence for view in fleet.published] == [2]
        engine.answers["/v1/models"] = models("tiny", created=1, permission=[])
        await asyncio.sleep(6)
        await fleet.polls("a", 5)
        assert len(fleet.published) == 1
        engine.answers["/v1/models"] = models("tiny", "adapter")
        await asyncio.sleep(6)
        await fleet.polls("a", 5)
        assert [view.sequence for view in fleet.published] == [2, 3]
        assert fleet.names("a") == ["tiny", "adapter"]
        assert fleet.messages() == ["a: engine is ready", "a: engine lists other models"]

    run(main())


def test_a_refused_connection_is_believed_at_once_and_models_stay() -> None:
    async def main() -> None:
        engine = vllm("tiny")
        fleet = Fleet({"a": engine})
        await fleet.registry.poll("a")
        engine.down = refused()
        await fleet.registry.poll("a")
        assert fleet.state("a") is EngineState.UNREACHABLE
        assert fleet.names("a") == ["tiny"]
        await fleet.polls("a", 50)
        engine.down = None
        await asyncio.sleep(3)
        await fleet.registry.poll("a")
        view = fleet.registry.fleet.engine("a")
        assert view is not None
        assert (view.state, view.ready_since_s) == (EngineState.READY, 1003.0)
        assert fleet.messages() == [
            "a: engine is ready",
            "a: engine is unreachable",
            "a: engine is ready",
        ]

    run(main())


def test_another_program_under_the_same_address() -> None:
    async def main() -> None:
        engine = vllm("tiny")
        fleet = Fleet({"a": engine})
        await fleet.registry.poll("a")
        engine.down = refused()
        await fleet.registry.poll("a")
        engine.down = None
        engine.answers = {"/v1/models": models("big", owner="sglang")}
        await fleet.registry.poll("a")
        view = fleet.registry.fleet.engine("a")
        assert view is not None
        assert (view.kind, fleet.names("a")) == (EngineKind.SGLANG, ["big"])

    run(main())


def test_a_connection_that_died_is_tried_again_once() -> None:
    async def main() -> None:
        engine = vllm("tiny")
        fleet = Fleet({"a": engine}, spec("a", EngineKind.VLLM))
        await fleet.registry.poll("a")
        failing = iter([httpx.ReadError("reset"), None])

        async def first_fails(request: httpx.Request) -> httpx.Response:
            error = next(failing, None)
            if error is not None:
                raise error
            return await engine(request)

        fleet.registry._watches["a"]._probe._transport = httpx.MockTransport(first_fails)
        await fleet.registry.poll("a")
        assert fleet.state("a") is EngineState.READY
        engine.down = httpx.RemoteProtocolError("closed")
        await fleet.registry.poll("a")
        assert fleet.state("a") is EngineState.UNREACHABLE

    run(main())


def test_a_loading_llama_cpp() -> None:
    async def main() -> None:
        engine = FakeEngine()
        engine.down = LOADING
        fleet = Fleet({"a": engine})
        await fleet.registry.poll("a")
        view = fleet.registry.fleet.engine("a")
        assert view is not None
        assert (view.kind, view.state) == (EngineKind.LLAMACPP, EngineState.LOADING)
        assert view.detail == "/health: status 503"
        engine.down = None
        engine.answers = {"/health": b"{}", "/v1/models": models("m", owner="llamacpp")}
        await asyncio.sleep(1)
        await fleet.registry.poll("a")
        view = fleet.registry.fleet.engine("a")
        assert view is not None
        assert (view.state, view.ready_since_s, view.detail) == (EngineState.READY, 1001.0, "")

    run(main())


def test_a_hung_engine_holds_up_no_other() -> None:
    async def main() -> None:
        hung, good = FakeEngine(), vllm("tiny")
        hung.down = 3600.0
        fleet = Fleet({"hung": hung, "good": good})
        fleet.registry.start()
        await asyncio.sleep(0.01)
        assert fleet.state("good") is EngineState.READY
        await asyncio.sleep(9.9)
        assert len([r for r in good.asked if r.url.path == "/health"]) == 20
        assert fleet.state("hung") is EngineState.UNREACHABLE
        await fleet.registry.close()

    run(main())


def test_a_blocked_health_endpoint_under_a_running_stream() -> None:
    async def main() -> None:
        engine = vllm("tiny")
        fleet = Fleet({"a": engine})
        fleet.registry.start()
        await fleet.until(lambda: fleet.state("a") is EngineState.READY)
        engine.down = 3600.0
        for received in range(60):
            fleet.traffic["a"] = EngineTraffic(in_flight=1, received=received)
            await asyncio.sleep(1)
            assert fleet.state("a") is EngineState.READY
        fleet.traffic["a"] = EngineTraffic(in_flight=0, received=60)
        await fleet.until(lambda: fleet.state("a") is EngineState.UNREACHABLE, 10.0)
        engine.down = None
        await fleet.until(lambda: fleet.state("a") is EngineState.READY, 2.0)
        await fleet.registry.close()

    run(main())


def test_configured_models_win() -> None:
    async def main() -> None:
        engine = FakeEngine(v1__models=models("tiny", "other", max_model_len=7), health=b"")
        fleet = Fleet({"a": engine}, spec("a", EngineKind.VLLM, "tiny", "mine"))
        view = fleet.registry.fleet.engine("a")
        assert view is not None
        assert view.models_known
        await fleet.registry.poll("a")
        view = fleet.registry.fleet.engine("a")
        assert view is not None
        cards = [msgspec.json.decode(model.card, type=dict[str, object]) for model in view.models]
        assert [card.get("max_model_len") for card in cards] == [7, None]
        assert [card["id"] for card in cards] == ["tiny", "mine"]

    run(main())


def test_an_engine_that_wants_another_key_is_up_and_says_so() -> None:
    async def main() -> None:
        engine = FakeEngine()
        engine.down = httpx.Response(401, content=b'{"error":"Unauthorized"}')
        fleet = Fleet({"a": engine}, spec("a", EngineKind.OPENAI))
        await fleet.registry.poll("a")
        view = fleet.registry.fleet.engine("a")
        assert view is not None
        assert (view.state, view.models_known) == (EngineState.READY, False)
        assert view.detail == "models not listed: status 401; set api_key_env to the engine's key"

    run(main())


def test_the_key_goes_along_and_stays_out_of_the_log() -> None:
    async def main() -> None:
        engine = vllm("tiny")
        with_key = EngineSpec(name="a", url="http://a:1/base", api_key="sk-secret")
        fleet = Fleet({"a": engine}, with_key)
        engine.answers = {f"/base{path}": body for path, body in engine.answers.items()}
        await fleet.registry.poll("a")
        assert fleet.names("a") == ["tiny"]
        assert {r.headers["authorization"] for r in engine.asked} == {"Bearer sk-secret"}
        assert b"sk-secret" not in b"".join(fleet.sink.lines)

    run(main())


def test_a_reply_without_end_is_cut_off() -> None:
    async def main() -> None:
        engine = FakeEngine(v1__models=b"[" * 9_000_000)
        fleet = Fleet({"a": engine}, spec("a", EngineKind.OPENAI))
        await fleet.polls("a", 3)
        view = fleet.registry.fleet.engine("a")
        assert view is not None
        assert view.state is EngineState.UNREACHABLE
        assert "8388608 bytes" in view.detail

    run(main())


def test_reload_keeps_what_stays() -> None:
    async def main() -> None:
        engines = {"a": vllm("tiny"), "b": vllm("big"), "c": vllm("new")}
        fleet = Fleet(engines, spec("a"), spec("b"))
        fleet.registry.start()
        await fleet.until(lambda: fleet.state("b") is EngineState.READY)
        moved = EngineSpec(name="b", url="http://elsewhere:1")
        heavier = EngineSpec(name="a", url="http://a:8000", weight=5.0)
        fleet.registry.reload(ControlSettings(engines=(spec("c"), heavier, moved)))
        names = [view.name for view in fleet.published[-1].engines]
        assert names == ["c", "a", "b"]
        states = [fleet.state(name) for name in "abc"]
        assert states == [EngineState.READY, EngineState.UNKNOWN, EngineState.UNKNOWN]
        assert fleet.opened == ["a", "b", "c", "b"]
        await fleet.until(lambda: fleet.state("c") is EngineState.READY)
        fleet.registry.reload(ControlSettings(engines=()))
        assert fleet.registry.fleet.engines == ()
        asked = len(engines["a"].asked)
        await asyncio.sleep(5)
        assert len(engines["a"].asked) == asked
        fleet.registry.reload(ControlSettings(engines=(spec("a"),)))
        await fleet.until(lambda: fleet.state("a") is EngineState.READY)
        await fleet.registry.close()
        sequences = [view.sequence for view in fleet.published]
        assert sequences == list(range(2, 2 + len(sequences)))

    run(main())


def test_draining() -> None:
    async def main() -> None:
        engine = vllm("tiny")
        fleet = Fleet({"a": engine})
        await fleet.registry.poll("a")
        fleet.registry.set_draining("a", draining=True)
        assert fleet.state("a") is EngineState.DRAINING
        await fleet.polls("a", 3)
        assert fleet.state("a") is EngineState.DRAINING
        fleet.registry.set_draining("a", draining=False)
        assert fleet.state("a") is EngineState.READY
        with pytest.raises(KeyError):
            fleet.registry.set_draining("b", draining=True)
        assert fleet.messages()[1:] == ["a: engine is draining", "a: engine is ready"]

    run(main())


def test_a_fault_of_our_own_does_not_end_the_watch() -> None:
    async def main() -> None:
        engine = vllm("tiny")
        fleet = Fleet({"a": engine})
        fleet.registry.start()
        await fleet.until(lambda: fleet.state("a") is EngineState.READY)
        engine.down = LookupError("a bug")
        await fleet.until(lambda: fleet.state("a") is EngineState.UNREACHABLE)
        assert "a: a probe failed" in fleet.messages()
        engine.down = None
        await fleet.until(lambda: fleet.state("a") is EngineState.READY)
        await fleet.registry.close()

    run(main())
