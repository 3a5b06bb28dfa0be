"""llama.cpp's server: its answers, errors, slots, properties and metrics.

Source: recorded replies of the server in xllamacpp. It ignores the model's name, queues
without limit, sends no head of a stream before the first token, and tells `timings`.
`max_running` are its slots, `context` what one slot holds.
"""

from collections.abc import Callable

import msgspec

from proa.emulator.engine import RealTimeEngine
from proa.emulator.exchange import Generation, Reply, Request, json_reply
from proa.emulator.llamacpp_answers import LlamaCppAnswers
from proa.emulator.llamacpp_completion import NativeStream, NativeWhole, read_native
from proa.emulator.llamacpp_state import metrics_text, properties, slots
from proa.emulator.openai_answer import Json
from proa.emulator.openai_dialect import OpenAiDialect
from proa.emulator.openai_request import Invalid
from proa.emulator.prompt import count_tokens

_NO_SLOT: Json = {"message": "no slot available", "type": "unavailable_error", "code": 503}


class _Tokenize(msgspec.Struct):
    content: str = ""


class LlamaCppDialect(OpenAiDialect):
    """`llama-server --metrics --slots`."""

    version = "b0"
    shape = LlamaCppAnswers()
    head_waits = True

    def __init__(self, engine: RealTimeEngine, clock: Callable[[], float]) -> None:
        super().__init__(engine, clock)
        self.route("GET", "/health", lambda _: json_reply({"status": "ok"}))
        self.route("GET", "/v1/health", lambda _: json_reply({"status": "ok"}))
        self.route("GET", "/models", self.models)
        self.route("GET", "/props", lambda _: json_reply(properties(self.profile)))
        self.route("GET", "/slots", self._slots)
        self.route("GET", "/lora-adapters", lambda _: json_reply([]))
        self.route("POST", "/tokenize", self._tokenize)
        self.route("POST", "/completion", self._native)
        self.route("POST", "/chat/completions", self._chat)

    def models(self, request: Request) -> Reply:
        model = self.profile.model
        listed = {"name": model, "model": model, "type": "model", "capabilities": ["completion"]}
        card = {
            "id": model,
            "aliases": [model],
            "tags": [],
            "object": "model",
            "created": self.created,
            "owned_by": "llamacpp",
            "meta": {"n_ctx": self.profile.context, "n_ctx_train": self.profile.context},
        }
        return json_reply({"models": [listed], "object": "list", "data": [card]})

    def metrics(self, request: Request) -> Reply:
        return Reply(200, metrics_text(self.engine.scheduler), "text/plain; version=0.0.4")

    def not_found(self) -> Reply:
        return error(404, "File Not Found", "not_found_error")

    def wrong_method(self, allowed: tuple[str, ...]) -> Reply:
        return self.not_found()

    def served(self, model: str | None) -> tuple[str, str]:
        return self.profile.model, ""

    def invalid(self, fault: Invalid) -> Reply:
        message = f"'{fault.field}' is required" if fault.is_missing else fault.message
        return error(400, message, "invalid_request_error")

    def too_long(self, prompt_tokens: int) -> Reply:
        context = self.profile.context
        message = (
            f"request ({prompt_tokens} tokens) exceeds the available context size "
            f"({context} tokens), try increasing it"
        )
        told = {"code": 400, "message": message, "type": "exceed_context_size_error"}
        sizes = {"n_prompt_tokens": prompt_tokens, "n_ctx": context}
        return json_reply({"error": told | sizes}, 400)

    def output_too_long(self, prompt_tokens: int, limit: int) -> Reply | None:
        return None

    def busy(self, *, is_stream: bool) -> Reply:
        return json_reply({"error": _NO_SLOT}, 503)

    def answer_id(self, *, is_chat: bool) -> str:
        del is_chat
        return f"chatcmpl-{self.next_id() * 2}"

    def _slots(self, request: Request) -> Reply:
        scheduler = self.engine.scheduler
        is_full = len(scheduler.running) >= self.profile.max_running
        if is_full and "fail_on_no_slot=1" in request.query.split("&"):
            return json_reply({"error": _NO_SLOT}, 503)
        return json_reply(slots(scheduler))

    def _tokenize(self, request: Request) -> Reply:
        try:
            asked = msgspec.json.decode(request.body, type=_Tokenize)
        except msgspec.DecodeError as fault:
            return self.invalid(Invalid("", str(fault)))
        return json_reply({"tokens": list(range(count_tokens(asked.content.encode())))})

    def _native(self, request: Request) -> Reply | Generation:
        try:
            body = read_native(request.body)
        except Invalid as fault:
            return self.invalid(fault)
        spec, asked = self.schedule(body, is_chat=False)
        self.admit(is_stream=asked.is_stream)
        answer = NativeStream(asked) if asked.is_stream else NativeWhole(asked)
        return Generation(spec, answer, head_waits=True)


def error(status: int, message: str, kind: str) -> Reply:
    """An error in llama.cpp's form."""
    return json_reply({"error": {"code": status, "message": message, "type": kind}}, status)
