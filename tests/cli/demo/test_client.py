"""The demo's client counts what it gets and keeps errors apart."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proa.cli.demo.client import Answer, Target
from proa.cli.demo.texts import Question
from proa.testing.chat import chat_completion, chat_events, error_event
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply

HEADERS = (("x-proa-engine", "aux"), ("x-proa-decision", "short"))


def question(kind: str = "chat", *, stream: bool = True) -> Question:
    return Question(kind=kind, max_tokens=8, stream=stream, text="Hi")


@asynccontextmanager
async def target_of(*replies: Reply) -> AsyncIterator[tuple[ScriptedEngine, Target]]:
    async with ScriptedEngine(replies) as engine:
        target = Target("proa", engine.url, model="m", system="Be brief.", is_gateway=True)
        async with target:
            yield engine, target


async def test_streamed_and_whole_answers() -> None:
    stream = sse_reply(chat_events(["a", "bc"]), headers=HEADERS)
    whole = json_reply(chat_completion("abc"), headers=HEADERS)
    counted: list[int] = []
    async with target_of(stream, whole) as (_, target):
        streamed = await target.ask(question(), on_tokens=counted.append)
        plain = await target.ask(question(stream=False), on_tokens=counted.append)
    assert (streamed.text, plain.text) == ("abc", "abc")
    assert (streamed.engine, streamed.decision) == ("aux", "short")
    assert streamed.first_token_s is not None
    assert plain.first_token_s is None
    assert counted == [1, 1, 1, 3], "two pieces, what the usage adds to them, a whole answer"
    assert (streamed.tokens, plain.tokens) == (3, 3)


async def test_faqs_have_a_path_of_their_own_at_the_gateway_only() -> None:
    async with target_of() as (engine, target):
        await target.ask(question("faq"))
        await target.ask(question("report"))
        direct = Target("main", engine.url, model="m", system="Be brief.", is_gateway=False)
        async with direct:
            answer = await direct.ask(question("faq"))
    assert answer.engine == "main"
    assert [request.path for request in engine.requests] == [
        "/api/faq/chat/completions",
        "/v1/chat/completions",
        "/v1/chat/completions",
    ]


async def failed(reply: Reply, *, stream: bool = True) -> Answer:
    async with target_of(reply) as (_, target):
        return await target.ask(question(stream=stream))


async def test_errors_are_noted_and_not_raised() -> None:
    refused = await failed(json_reply({"error": {"message": "full"}}, status=503), stream=False)
    assert refused.error.startswith("InternalServerError")
    in_band = await failed(sse_reply([*chat_events(["a"])[:2], error_event()]))
    assert in_band.error.startswith("APIError: The queue is full")
    cut = await failed(sse_reply([*chat_events(["a"])[:2], Close()], done=False))
    assert cut.error
    assert cut.text == "a"


async def test_marks_hold_the_engines_own_time() -> None:
    [_, piece, *_] = chat_events(["a"])
    timed = piece | {"timings": {"predicted_n": 1, "prompt_ms": 20.0, "predicted_ms": 5.0}}
    async with target_of(sse_reply([timed])) as (_, target):
        answer = await target.ask(question())
    [(tokens, at_s, worked_s)] = answer.marks
    assert (tokens, worked_s) == (1, 0.025)
    assert at_s == answer.first_token_s
