"""The demo's client: the official `openai` package, and what is noted of each answer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import openai
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from proa.cli.demo.texts import Question

TIMEOUT_S = 60.0


@dataclass(slots=True)
class Answer:
    """One answer. `engine` and `decision` are what the gateway says in its headers.

    `marks` holds, per token, the seconds since the request began and the seconds
    that the engine says to have worked, when that was asked for.
    """

    question: Question
    engine: str = ""
    decision: str = ""
    text: str = ""
    tokens: int = 0
    first_token_s: float | None = None
    total_s: float = 0.0
    error: str = ""
    marks: list[tuple[int, float, float]] = field(default_factory=list)


class Target:
    """Where questions go: an engine itself (all to `/v1`) or the gateway."""

    def __init__(self, name: str, url: str, *, model: str, system: str, is_gateway: bool) -> None:
        self.name = name
        self.url = url
        self._model = model
        self._system = system
        self._is_gateway = is_gateway
        self._clients: dict[str, openai.AsyncOpenAI] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._clients.values():
            await client.close()

    async def ask(
        self,
        question: Question,
        *,
        on_tokens: Callable[[int], None] = lambda count: None,
        extra: dict[str, Any] | None = None,
    ) -> Answer:
        """Ask and read the whole answer; API errors and broken streams end up in `error`.

        `on_tokens` is told of tokens as they arrive, whole answers at their end.
        """
        answer = Answer(question)
        began_s = time.perf_counter()
        try:
            if question.stream:
                await self._ask_stream(answer, began_s, on_tokens, extra)
            else:
                await self._ask_whole(answer, on_tokens, extra)
        except openai.OpenAIError as error:
            answer.error = f"{type(error).__name__}: {error}"
        answer.total_s = time.perf_counter() - began_s
        return answer

    def _client(self, question: Question) -> openai.AsyncOpenAI:
        api = question.api if self._is_gateway else "/v1"
        if api not in self._clients:
            # llama.cpp closes a kept connection unsaid: the gateway knows, a client asks again
            retries = 0 if self._is_gateway else 1
            self._clients[api] = openai.AsyncOpenAI(
                base_url=self.url + api, api_key="demo", max_retries=retries, timeout=TIMEOUT_S
            )
        return self._clients[api]

    def _messages(self, question: Question) -> list[ChatCompletionMessageParam]:
        return [
            {"role": "system", "content": self._system},
            {"role": "user", "content": question.text},
        ]

    async def _ask_whole(
        self, answer: Answer, on_tokens: Callable[[int], None], extra: dict[str, Any] | None
    ) -> None:
        question = answer.question
        raw = await self._client(question).chat.completions.with_raw_response.create(
            model=self._model,
            messages=self._messages(question),
            max_tokens=question.max_tokens,
            extra_body=extra,
        )
        self._note_headers(answer, raw.headers)
        completion = raw.parse()
        answer.text = completion.choices[0].message.content or ""
        answer.tokens = completion.usage.completion_tokens if completion.usage else 0
        on_tokens(answer.tokens)

    async def _ask_stream(
        self,
        answer: Answer,
        began_s: float,
        on_tokens: Callable[[int], None],
        extra: dict[str, Any] | None,
    ) -> None:
        question = answer.question
        raw = await self._client(question).chat.completions.with_raw_response.create(
            model=self._model,
            messages=self._messages(question),
            max_tokens=question.max_tokens,
            stream=True,
            stream_options={"include_usage": True},
            extra_body=extra,
        )
        self._note_headers(answer, raw.headers)
        async with raw.parse() as stream:
            async for chunk in stream:
                note_chunk(answer, chunk, time.perf_counter() - began_s, on_tokens)

    def _note_headers(self, answer: Answer, headers: Any) -> None:
        answer.engine = headers.get("x-proa-engine", "" if self._is_gateway else self.name)
        answer.decision = headers.get("x-proa-decision", "")


def note_chunk(
    answer: Answer, chunk: ChatCompletionChunk, at_s: float, on_tokens: Callable[[int], None]
) -> None:
    """Add a chunk to its answer.

    A chunk with text counts as one token until the usage at the end tells the true
    number: text of several tokens may come at once, as Korean syllables do.
    """
    if chunk.usage is not None:
        on_tokens(chunk.usage.completion_tokens - answer.tokens)
        answer.tokens = chunk.usage.completion_tokens
    piece = chunk.choices[0].delta.content if chunk.choices else None
    if not piece:
        return
    if answer.first_token_s is None:
        answer.first_token_s = at_s
    answer.text += piece
    answer.tokens += 1
    on_tokens(1)
    timings = (chunk.model_extra or {}).get("timings")
    if timings:
        worked_s = (timings["prompt_ms"] + timings["predicted_ms"]) / 1000
        answer.marks.append((timings["predicted_n"], at_s, worked_s))
