"""Text Generation Inference's router: its answers, errors and metrics.

Source: TGI 3.3.6-dev0, router/src (read, not run). The model's name is ignored. Errors
are flat with an `error_type`: 429 overloaded, 422 validation. A stream has begun before
the request is looked at, so its errors are events after a status 200.
"""

from collections.abc import Callable

import msgspec

from proa.emulator.engine import RealTimeEngine
from proa.emulator.exchange import EVENTS, Generation, Refused, Reply, Request, json_reply
from proa.emulator.openai_dialect import OpenAiDialect
from proa.emulator.openai_request import Invalid
from proa.emulator.prompt import count_tokens
from proa.emulator.tgi_answers import TgiAnswers
from proa.emulator.tgi_generate import NativeStream, NativeWhole, read_native
from proa.emulator.tgi_state import info, metrics_text

_FAILURE = {429: ("Model is overloaded", "overloaded")}


class _Inputs(msgspec.Struct):
    inputs: str


class TgiDialect(OpenAiDialect):
    """`text-generation-router`; `max_queued` is its `--max-concurrent-requests`."""

    version = "3.3.6-dev0"
    shape = TgiAnswers()

    def __init__(self, engine: RealTimeEngine, clock: Callable[[], float]) -> None:
        super().__init__(engine, clock)
        for path in ("/health", "/ping"):
            self.route("GET", path, lambda _: Reply(200, b""))
        self.route("GET", "/info", lambda _: json_reply(info(self.profile, self.version)))
        self.route("POST", "/tokenize", self._tokenize)
        self.route("POST", "/generate", self._native)
        self.route("POST", "/generate_stream", self._native_stream)

    def models(self, request: Request) -> Reply:
        model = self.profile.model
        card = {"id": model, "object": "model", "created": 0, "owned_by": model}
        return json_reply({"object": "list", "data": [card]})

    def metrics(self, request: Request) -> Reply:
        return Reply(200, metrics_text(self.engine.scheduler), "text/plain")

    def not_found(self) -> Reply:
        return Reply(404, b"", "text/plain")

    def wrong_method(self, allowed: tuple[str, ...]) -> Reply:
        return Reply(405, b"", "text/plain", headers=(("allow", ",".join(allowed)),))

    def served(self, model: str | None) -> tuple[str, str]:
        return self.profile.model, ""

    def invalid(self, fault: Invalid) -> Reply:
        """Bodies that do not fit are refused before TGI's own code sees them, in plain text."""
        if fault.is_missing:
            told = f"missing field `{fault.field}`"
            text = f"Failed to deserialize the JSON body into the target type: {told}"
            return Reply(422, text.encode(), "text/plain; charset=utf-8")
        text = f"Failed to parse the request body as JSON: {fault.message}"
        return Reply(400, text.encode(), "text/plain; charset=utf-8")

    def too_long(self, prompt_tokens: int) -> Reply:
        least = self.profile.context
        told = f"`inputs` must have less than {least} tokens. Given: {prompt_tokens}"
        return error(422, f"Input validation error: {told}", "validation")

    def output_too_long(self, prompt_tokens: int, limit: int) -> Reply | None:
        told = (
            f"`inputs` tokens + `max_new_tokens` must be <= {self.profile.context}. Given: "
            f"{prompt_tokens} `inputs` tokens and {limit} `max_new_tokens`"
        )
        return error(422, f"Input validation error: {told}", "validation")

    def busy(self, *, is_stream: bool) -> Reply:
        return error(429, *_FAILURE[429])

    def answer(self, request: Request) -> Reply | Generation:
        answered = super().answer(request)
        is_error = isinstance(answered, Reply) and answered.status in (422, 429)
        if not is_error or not _wants_stream(request):
            return answered
        assert isinstance(answered, Reply)
        return _in_stream(answered, is_native=request.path == "/generate_stream")

    def answer_id(self, *, is_chat: bool) -> str:
        del is_chat
        return ""

    def _native(self, request: Request) -> Reply | Generation:
        return self._generate_native(request, is_stream=False)

    def _native_stream(self, request: Request) -> Reply | Generation:
        return self._generate_native(request, is_stream=True)

    def _generate_native(self, request: Request, *, is_stream: bool) -> Reply | Generation:
        try:
            body, wants_details = read_native(request.body)
        except Invalid as fault:
            return self.invalid(fault)
        spec, asked = self.schedule(body, is_chat=False)
        self.admit(is_stream=is_stream)
        form = NativeStream if is_stream else NativeWhole
        return Generation(spec, form(asked, wants_details=wants_details))

    def _tokenize(self, request: Request) -> Reply:
        try:
            asked = msgspec.json.decode(request.body, type=_Inputs)
        except msgspec.DecodeError as fault:
            raise Refused(self.invalid(Invalid("", str(fault)))) from None
        data = asked.inputs.encode()
        count = count_tokens(data)
        return json_reply(
            [{"id": n, "text": "", "start": 4 * n, "stop": 4 * n + 4} for n in range(count)]
        )


def error(status: int, message: str, kind: str) -> Reply:
    """An error in TGI's form."""
    return json_reply({"error": message, "error_type": kind}, status)


def _wants_stream(request: Request) -> bool:
    if request.path == "/generate_stream":
        return True
    return request.path.startswith("/v1/") and _reads_stream(request.body)


class _Stream(msgspec.Struct):
    stream: bool | None = None


def _reads_stream(body: bytes) -> bool:
    try:
        return bool(msgspec.json.decode(body, type=_Stream).stream)
    except msgspec.DecodeError:
        return False


def _in_stream(reply: Reply, *, is_native: bool) -> Reply:
    """The error as an event; the OpenAI routes and the native one differ in its form."""
    if reply.content_type != "application/json":
        return reply
    told = reply.body
    if not is_native:
        message = msgspec.json.decode(reply.body)["error"]
        inner = {"message": message, "http_status_code": reply.status}
        told = msgspec.json.encode({"error": inner})
    return Reply(200, b"data: " + told + b"\n\n", EVENTS)
