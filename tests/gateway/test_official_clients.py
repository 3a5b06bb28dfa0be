"""The official OpenAI and Anthropic clients, and curl, against the gateway."""

import asyncio
import json

import anthropic
import openai
import pytest
from tests.gateway.apis import ANTHROPIC, CHAT, RESPONSES, StreamingApi
from tests.gateway.harness import Gateway, key_spec, serving
from tests.gateway.routes import MAIN_FIRST

from proa.testing.chat import chat_completion, chat_events
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reply, Reset, Stall

PROMPT = [{"role": "user", "content": "안녕"}]
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "scripted",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 11, "output_tokens": 3},
}


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


def openai_client(gateway: Gateway, *, max_retries: int = 0) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=f"{gateway.url}/v1", api_key="secret", max_retries=max_retries, timeout=10
    )


def anthropic_client(gateway: Gateway) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        base_url=gateway.url, api_key="secret", max_retries=0, timeout=10
    )


async def chat(client: openai.AsyncOpenAI, model: str = "scripted") -> str | None:
    answer = await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "안녕"}]
    )
    return answer.choices[0].message.content


async def streamed_chat(client: openai.AsyncOpenAI) -> list[str]:
    """The content deltas; raises what the client raises."""
    stream = await client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": "안녕"}], stream=True
    )
    choices = [event.choices[0] async for event in stream if event.choices]
    return [choice.delta.content for choice in choices if choice.delta.content]


async def message(client: anthropic.AsyncAnthropic, model: str = "scripted") -> str:
    answer = await client.messages.create(
        model=model, max_tokens=1, messages=[{"role": "user", "content": "안녕"}]
    )
    block = answer.content[0]
    assert block.type == "text"
    return block.text


async def streamed_message(client: anthropic.AsyncAnthropic, got: list[str]) -> None:
    """Appends the texts to `got`; raises what the client raises."""
    async with client.messages.stream(
        model="scripted", max_tokens=1, messages=[{"role": "user", "content": "안녕"}]
    ) as stream:
        async for text in stream.text_stream:
            got.append(text)  # noqa: PERF401 - what came before an error is kept


async def test_openai_chat() -> None:
    async with (
        ScriptedEngine() as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        assert await chat(client) == "Hello from a script."
        assert await streamed_chat(client) == ["Hello", " from", " a script."]
        assert [model.id async for model in client.models.list()] == ["scripted"]
        assert (await client.models.retrieve("scripted")).id == "scripted"


async def test_openai_many_at_once_over_kept_connections() -> None:
    async with (
        ScriptedEngine() as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        for _ in range(3):
            answers = await asyncio.gather(*(chat(client) for _ in range(20)))
            assert answers == ["Hello from a script."] * 20
            streams = await asyncio.gather(*(streamed_chat(client) for _ in range(20)))
            assert streams == [["Hello", " from", " a script."]] * 20


async def test_openai_other_endpoints() -> None:
    embeddings = {
        "object": "list",
        "model": "scripted",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}],
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    }
    async with (
        always(json_reply(embeddings)) as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        found = await client.embeddings.create(
            model="scripted", input="가", encoding_format="float"
        )
        assert found.data[0].embedding == [0.5, -0.25]
        assert gateway.records[0].prompt_tokens == 2
    async with (
        always(json_reply({"text": "들린 말"})) as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        heard = await client.audio.transcriptions.create(
            model="scripted", file=("a.wav", b"RIFF" + bytes(100_000))
        )
        assert heard.text == "들린 말"
        assert gateway.records[0].model == "scripted"


async def test_openai_responses_stream() -> None:
    async with (
        always(RESPONSES.reply()) as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        stream = await client.responses.create(model="scripted", input="안녕", stream=True)
        kinds = [event.type async for event in stream]
        assert kinds[-2:] == ["response.output_text.delta", "response.completed"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
async def test_openai_errors_of_engines(status: int, error: type[openai.APIStatusError]) -> None:
    body = {"error": {"message": "told by the engine", "type": "x", "param": None, "code": "y"}}
    async with (
        always(json_reply(body, status=status)) as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        for ask in (chat, streamed_chat):
            with pytest.raises(error, match="told by the engine") as raised:
                await ask(client)
            assert raised.value.code == "y"


async def test_openai_errors_of_the_gateway() -> None:
    async with ScriptedEngine() as engine:
        async with (
            serving(engine, keys=(key_spec("team", "other"),)) as gateway,
            openai_client(gateway) as client,
        ):
            with pytest.raises(openai.AuthenticationError, match="wrong API key"):
                await chat(client)
        async with serving(engine) as gateway, openai_client(gateway) as client:
            with pytest.raises(openai.NotFoundError, match="does not exist") as raised:
                await chat(client, model="gpt-5")
            assert raised.value.code == "model_not_found"
        await engine.stop()
        async with serving(engine) as gateway, openai_client(gateway) as client:
            with pytest.raises(openai.InternalServerError, match="can't be reached"):
                await chat(client)


@pytest.mark.parametrize("end", [Close(), Reset()], ids=["FIN", "RST"])
async def test_openai_sees_a_broken_stream_as_an_error(end: Close | Reset) -> None:
    async with (
        always(CHAT.reply(*CHAT.content, end)) as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        with pytest.raises(openai.APIError, match="closed the connection"):
            await streamed_chat(client)


async def test_openai_sees_the_engines_error_in_a_stream() -> None:
    crash = b'data: {"error":{"message":"EngineCore died","code":500}}\n\n'
    reply = CHAT.reply(*CHAT.content, crash, CHAT.ending[-1])
    async with (
        always(reply) as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        with pytest.raises(openai.APIError, match="EngineCore died"):
            await streamed_chat(client)


async def test_openai_sees_an_overload_in_a_stream_as_its_status() -> None:
    reply = CHAT.reply(CHAT.overload, CHAT.ending[-1])
    async with always(reply) as full, ScriptedEngine() as good:
        async with serving(full) as gateway, openai_client(gateway) as client:
            with pytest.raises(openai.InternalServerError) as raised:
                await streamed_chat(client)
            assert raised.value.status_code == 503
        async with (
            serving(full, good, routing=MAIN_FIRST) as gateway,
            openai_client(gateway) as client,
        ):
            assert await streamed_chat(client) == ["Hello", " from", " a script."]


async def test_openai_retries_after_the_time_that_the_engine_names() -> None:
    """The client's own retry obeys `retry-after`, which the gateway passes on."""
    headers = (("retry-after", "0"),)
    refuse = json_reply({"error": {"message": "full"}}, status=429, headers=headers)
    replies = [refuse, json_reply(chat_completion())]
    async with (
        ScriptedEngine(replies) as engine,
        serving(engine) as gateway,
        openai_client(gateway, max_retries=1) as client,
    ):
        answer = await client.chat.completions.with_raw_response.create(
            model="scripted", messages=[{"role": "user", "content": "a"}]
        )
        assert answer.retries_taken == 1
        assert len(engine.requests) == 2


async def test_openai_leaving_a_stream_cancels_the_engine() -> None:
    async with (
        always(CHAT.reply(*CHAT.content, Stall())) as engine,
        serving(engine) as gateway,
        openai_client(gateway) as client,
    ):
        stream = await client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "a"}], stream=True
        )
        async for _ in stream:
            break
        await stream.close()
        await engine.wait_aborted(1)


async def test_anthropic_messages() -> None:
    def script(request: ReceivedRequest) -> Reply:
        if request.path.endswith("/count_tokens"):
            return json_reply({"input_tokens": 11})
        asked = json.loads(bytes(request.body))
        return anthropic_stream() if asked.get("stream") else json_reply(MESSAGE)

    async with ScriptedEngine(script) as engine, serving(engine) as gateway:
        async with anthropic_client(gateway) as client:
            assert await message(client) == "Hello"
            texts: list[str] = []
            await streamed_message(client, texts)
            assert texts == ["Hel", "lo"]
            count = await client.messages.count_tokens(
                model="scripted", messages=[{"role": "user", "content": "안녕"}]
            )
            assert count.input_tokens == 11
        counts = [(r.prompt_tokens, r.completion_tokens) for r in gateway.records[:2]]
        assert counts == [(11, 3), (11, 3)]


def anthropic_stream(*, cut: bool = False) -> Reply:
    """A whole stream as Anthropic's API writes it, or one cut in the middle."""
    start = MESSAGE | {"content": [], "stop_reason": None}
    block = {"type": "text", "text": ""}
    events: list[tuple[str, dict[str, object]]] = [
        ("message_start", {"message": start}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("ping", {}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "Hel"}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "lo"}}),
        ("content_block_stop", {"index": 0}),
        (
            "message_delta",
            {
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 3},
            },
        ),
        ("message_stop", {}),
    ]
    parts = [
        f"event: {name}\ndata: {json.dumps({'type': name} | fields)}\n\n".encode()
        for name, fields in events
    ]
    return sse_reply([*parts[:5], Reset()] if cut else parts, done=False)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (404, anthropic.NotFoundError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
    ],
)
async def test_anthropic_errors_of_engines(
    status: int, error: type[anthropic.APIStatusError]
) -> None:
    body = {"type": "error", "error": {"type": "x", "message": "told by the engine"}}
    async with (
        always(json_reply(body, status=status)) as engine,
        serving(engine) as gateway,
        anthropic_client(gateway) as client,
    ):
        with pytest.raises(error, match="told by the engine"):
            await message(client)


async def test_anthropic_key_and_errors_of_the_gateway() -> None:
    async with (
        always(json_reply(MESSAGE)) as engine,
        serving(engine, keys=(key_spec("team", "secret"),)) as gateway,
        anthropic_client(gateway) as client,
    ):
        assert await message(client) == "Hello"
        assert engine.requests[0].header("x-api-key") is None
        with pytest.raises(anthropic.NotFoundError, match="does not exist") as raised:
            await message(client, model="claude")
        assert raised.value.body == {
            "type": "error",
            "error": {
                "type": "not_found_error",
                "message": "The model `claude` does not exist",
            },
        }


async def test_anthropic_sees_a_broken_stream_as_an_error() -> None:
    async with (
        always(anthropic_stream(cut=True)) as engine,
        serving(engine) as gateway,
        anthropic_client(gateway) as client,
    ):
        got: list[str] = []
        with pytest.raises(anthropic.APIStatusError, match="closed the connection"):
            await streamed_message(client, got)
        assert got == ["Hel", "lo"]


# curl


async def curl(*arguments: str) -> tuple[int, bytes]:
    """Exit code and standard output."""
    process = await asyncio.create_subprocess_exec(
        "curl", "-sS", "--max-time", "10", *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    output, _ = await process.communicate()
    return process.returncode or 0, output


def posted(value: object) -> tuple[str, ...]:
    return ("-H", "content-type: application/json", "-d", json.dumps(value))


@pytest.mark.parametrize("version", ["--http1.1", "--http1.0"])
async def test_curl(version: str) -> None:
    asked = {"model": "scripted", "messages": PROMPT}
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        url = f"{gateway.url}/v1/chat/completions"
        code, output = await curl(version, url, *posted(asked))
        assert (code, json.loads(output)) == (0, chat_completion())
        code, output = await curl(version, "-N", url, *posted(asked | {"stream": True}))
        assert code == 0
        assert output.count(b"data: ") == len(chat_events()) + 1
        assert output.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("api", [CHAT, ANTHROPIC], ids=["chat", "anthropic"])
async def test_curl_fails_when_a_stream_breaks(api: StreamingApi) -> None:
    async with always(api.reply(*api.content, Reset())) as engine, serving(engine) as gateway:
        asked = {"model": "scripted", "stream": True}
        code, output = await curl("-N", gateway.url + api.path, *posted(asked))
        assert code == 18  # a partial file
        assert api.error_message(output.removeprefix(b"".join(api.content)))


async def test_curl_waits_for_100_continue_with_a_large_body() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        body = json.dumps({"model": "scripted", "messages": "x" * 2_000_000})
        process = await asyncio.create_subprocess_exec(
            "curl", "-sS", "-H", "content-type: application/json", "-H", "Expect: 100-continue",
            "--data-binary", "@-", f"{gateway.url}/v1/chat/completions",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, _ = await process.communicate(body.encode())
        assert json.loads(output) == chat_completion()
        assert bytes(engine.requests[0].body) == body.encode()
        assert engine.requests[0].header("expect") is None
