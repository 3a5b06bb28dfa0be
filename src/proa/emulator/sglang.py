"""SGLang's server: its answers, flat errors, loads and metrics.

Source: SGLang 0.5.23, recorded replies. It accepts any model's name and echoes it, tells
no cached tokens, ends a stream with an event of its own, and notices a closed client of
a whole answer only after some time (1 to 4 s were seen, 2 s are imitated). Its gauges on
`/metrics` are up to a second old, `/v1/loads` is of this moment.
Not imitated: the generated token and the second that its `/health` costs.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from proa.emulator.engine import RealTimeEngine
from proa.emulator.exchange import EVENTS, Reply, Request, json_reply
from proa.emulator.openai_dialect import OpenAiDialect
from proa.emulator.openai_request import Invalid
from proa.emulator.prompt import count_tokens
from proa.emulator.sglang_answers import SglangAnswers
from proa.emulator.sglang_loads import loads, metrics_text, sections

GAUGE_AGE_S = 1.0


class _Tokenize(msgspec.Struct):
    prompt: str


class SglangDialect(OpenAiDialect):
    """`sglang.launch_server --enable-metrics`."""

    version = "0.5.23"
    shape = SglangAnswers()
    notices_close_after_s = 2.0

    def __init__(self, engine: RealTimeEngine, clock: Callable[[], float]) -> None:
        super().__init__(engine, clock)
        self._page = b""
        self._page_s = float("-inf")
        for path in ("/health", "/health_generate", "/ready", "/ping"):
            self.route("GET", path, lambda _: Reply(200, b""))
        for path in ("/model_info", "/get_model_info"):
            self.route("GET", path, self._model_info)
        for path in ("/server_info", "/get_server_info"):
            self.route("GET", path, self._server_info)
        for path in ("/tokenize", "/v1/tokenize"):
            self.route("POST", path, self._tokenize)
        self.route("GET", "/v1/loads", self._loads)

    def models(self, request: Request) -> Reply:
        model = self.profile.model
        card = {
            "id": model,
            "object": "model",
            "created": self.created,
            "owned_by": "sglang",
            "root": model,
            "parent": None,
            "max_model_len": self.profile.context,
        }
        return json_reply({"object": "list", "data": [card]})

    def metrics(self, request: Request) -> Reply:
        now_s = self._clock()
        if now_s - self._page_s >= GAUGE_AGE_S:
            self._page, self._page_s = metrics_text(self.engine.scheduler), now_s
        return Reply(200, self._page, "text/plain; version=0.0.4; charset=utf-8")

    def served(self, model: str | None) -> tuple[str, str]:
        return model or self.profile.model, ""

    def invalid(self, fault: Invalid) -> Reply:
        place = f"('body', '{fault.field}')" if fault.field else "('body',)"
        kind = "missing" if fault.is_missing else "value_error" if fault.field else "json_invalid"
        told = f"{{'type': '{kind}', 'loc': {place}, 'msg': '{fault.message}'}}"
        return error(400, f"1 validation error:\n  {told}", "Bad Request")

    def too_long(self, prompt_tokens: int) -> Reply:
        message = (
            f"The input ({prompt_tokens} tokens) is longer than the model's context length "
            f"({self.profile.context} tokens)."
        )
        return error(400, message, "BadRequestError")

    def output_too_long(self, prompt_tokens: int, limit: int) -> Reply | None:
        message = (
            "Requested token count exceeds the model's maximum context length of "
            f"{self.profile.context} tokens. You requested a total of {prompt_tokens + limit} "
            f"tokens: {prompt_tokens} tokens from the input messages and {limit} tokens for the "
            "completion. Please reduce the number of tokens in the input messages or the "
            "completion to fit within the limit."
        )
        return error(400, message, "BadRequestError")

    def busy(self, *, is_stream: bool) -> Reply:
        if not is_stream:
            return error(503, "The request queue is full.", "503")
        told = {
            "object": "error",
            "message": "The request queue is full.",
            "type": "SERVICE_UNAVAILABLE",
            "param": None,
            "code": 503,
        }
        event = b"data: " + msgspec.json.encode({"error": told}) + b"\n\ndata: [DONE]\n\n"
        return Reply(200, event, EVENTS)

    def answer_id(self, *, is_chat: bool) -> str:
        del is_chat
        return self.next_id() * 2

    def _loads(self, request: Request) -> Reply:
        now_s = self._clock()
        stamp = datetime.fromtimestamp(now_s, UTC).isoformat()
        told = {"timestamp": stamp, "version": self.version, "accelerator": None}
        of_rank = loads(self.engine.scheduler, now_s)
        if "include=core" not in request.query.split("&"):
            of_rank |= sections(self.engine.scheduler)
        return json_reply(told | {"num_accelerators": 1, "loads": [of_rank]})

    def _model_info(self, _: Request) -> Reply:
        model = self.profile.model
        told = {"model_path": model, "served_model_name": model, "tokenizer_path": model}
        return json_reply(told | {"is_generation": True, "weight_version": "default"})

    def _server_info(self, _: Request) -> Reply:
        profile = self.profile
        return json_reply(
            {
                "model_path": profile.model,
                "served_model_name": profile.model,
                "max_running_requests": profile.max_running,
                "max_queued_requests": profile.max_queued,
                "chunked_prefill_size": profile.max_batched_tokens,
                "page_size": profile.block_tokens,
                "status": "ready",
                "max_total_num_tokens": profile.kv_blocks * profile.block_tokens,
                "max_req_input_len": profile.context - 6,
                "internal_states": [
                    {"last_gen_throughput": self.engine.scheduler.stats.step_tokens_per_s}
                ],
                "version": self.version,
            }
        )

    def _tokenize(self, request: Request) -> Reply:
        try:
            asked = msgspec.json.decode(request.body, type=_Tokenize)
        except msgspec.DecodeError as fault:
            return self.invalid(Invalid("prompt", str(fault)))
        count = count_tokens(asked.prompt.encode())
        told = {"tokens": list(range(count)), "count": count}
        return json_reply(told | {"max_model_len": self.profile.context})


def error(status: int, message: str, kind: str) -> Reply:
    """An error in SGLang's form, which is flat."""
    told = {"object": "error", "message": message, "type": kind, "param": None, "code": status}
    return json_reply(told, status)
