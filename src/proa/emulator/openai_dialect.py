"""Chat completions and completions, as the engines have them in common.

A protocol gives the forms of answers and errors; sizes and scheduling are here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from proa.emulator.dialect import Dialect
from proa.emulator.engine import RealTimeEngine
from proa.emulator.exchange import (
    Generation,
    Refused,
    Reply,
    Request,
)
from proa.emulator.openai_answer import AnswerShape, StreamAnswer, WholeAnswer
from proa.emulator.openai_request import (
    AskedChat,
    AskedCompletion,
    Invalid,
    Prepared,
    read_asked,
)
from proa.emulator.prompt import count_tokens, prefix_hashes
from proa.emulator.sequence import SequenceSpec
from proa.emulator.words import Words


class OpenAiDialect(Dialect, ABC):
    """An engine that speaks the OpenAI API; the base of all four protocols."""

    head_waits = False
    shape: AnswerShape

    def __init__(self, engine: RealTimeEngine, clock: Callable[[], float]) -> None:
        super().__init__(engine, clock)
        self.route("POST", "/v1/chat/completions", self._chat)
        self.route("POST", "/v1/completions", self._completion)
        self.route("GET", "/v1/models", self.models)
        self.route("GET", "/metrics", self.metrics)

    # What a protocol decides.

    @abstractmethod
    def models(self, request: Request) -> Reply:
        """The list of models."""

    @abstractmethod
    def metrics(self, request: Request) -> Reply:
        """The metrics page."""

    @abstractmethod
    def served(self, model: str | None) -> tuple[str, str]:
        """The model's name in the answer, and the LoRA adapter that it means or "".

        Raises:
            Refused: an engine of this kind does not answer for an unknown model.
        """

    @abstractmethod
    def invalid(self, fault: Invalid) -> Reply:
        """The error for a request that makes no sense."""

    @abstractmethod
    def too_long(self, prompt_tokens: int) -> Reply:
        """The error for a prompt above the context."""

    @abstractmethod
    def output_too_long(self, prompt_tokens: int, limit: int) -> Reply | None:
        """The error for an asked output that does not fit; None cuts the output instead."""

    @abstractmethod
    def busy(self, *, is_stream: bool) -> Reply:
        """The error for a full queue."""

    def answer_id(self, *, is_chat: bool) -> str:
        return f"{'chatcmpl' if is_chat else 'cmpl'}-{self.next_id()}"

    # What they have in common.

    def schedule(
        self, body: AskedChat | AskedCompletion, *, is_chat: bool
    ) -> tuple[SequenceSpec, Prepared]:
        """The sequence that a request asks for.

        Raises:
            Refused: the model is unknown, or prompt or output are too long.
        """
        model, adapter = self.served(body.model)
        rendered = body.rendered()
        prompt_tokens = count_tokens(rendered)
        output_tokens, is_cut = self.output_size(prompt_tokens, body.output_limit)
        spec = SequenceSpec(
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            prefix_hashes=prefix_hashes(
                rendered, block_tokens=self.profile.block_tokens, adapter=adapter
            ),
            adapter=adapter,
            is_cut=is_cut,
        )
        asked = Prepared(
            id=self.answer_id(is_chat=is_chat),
            created=self.now(),
            model=model,
            is_chat=is_chat,
            is_stream=bool(body.stream),
            wants_usage=body.wants_usage,
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            finish_reason="length" if is_cut else "stop",
            words=Words(rendered, self.profile.seed if body.seed is None else body.seed),
        )
        return spec, asked

    def output_size(self, prompt_tokens: int, limit: int | None) -> tuple[int, bool]:
        """How many tokens come out, and whether a limit ends them and not the text itself.

        An asked limit is always reached, as with `ignore_eos`; the profile's
        `output_tokens` stand for texts that end by themselves.

        Raises:
            Refused: they do not fit into the context.
        """
        room = self.profile.context - prompt_tokens
        if room < 1:
            raise Refused(self.too_long(prompt_tokens))
        if limit is None:
            return min(self.profile.output_tokens, room), self.profile.output_tokens > room
        if limit > room and (reply := self.output_too_long(prompt_tokens, limit)) is not None:
            raise Refused(reply)
        return min(limit, room), True

    def admit(self, *, is_stream: bool) -> None:
        """Let a request into the queue.

        Raises:
            Refused: the queue is full.
        """
        if not self.engine.scheduler.takes_more:
            self.engine.scheduler.stats.rejected += 1
            raise Refused(self.busy(is_stream=is_stream))

    def _chat(self, request: Request) -> Reply | Generation:
        return self._generate(request, is_chat=True)

    def _completion(self, request: Request) -> Reply | Generation:
        return self._generate(request, is_chat=False)

    def _generate(self, request: Request, *, is_chat: bool) -> Reply | Generation:
        try:
            body = read_asked(request.body, is_chat=is_chat)
        except Invalid as fault:
            return self.invalid(fault)
        spec, asked = self.schedule(body, is_chat=is_chat)
        self.admit(is_stream=asked.is_stream)
        answer = (StreamAnswer if asked.is_stream else WholeAnswer)(self.shape, asked)
        return Generation(spec, answer, head_waits=self.head_waits)
