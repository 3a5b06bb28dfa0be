"""vLLM's API server: its answers, errors, metrics and LoRA endpoints.

Source: vLLM 0.32.0, recorded replies. A full queue is a 503, but for a stream a 200
whose first event is the error. LoRA adapters are loaded and unloaded at run time.
"""

from collections.abc import Callable

import msgspec

from proa.emulator.engine import RealTimeEngine
from proa.emulator.exchange import EVENTS, TEXT, Refused, Reply, Request, json_reply
from proa.emulator.openai_answer import Json
from proa.emulator.openai_dialect import OpenAiDialect
from proa.emulator.openai_request import Invalid
from proa.emulator.prompt import Message, count_tokens, rendered_chat
from proa.emulator.vllm_answers import VllmAnswers
from proa.emulator.vllm_metrics import metrics_text

BUSY = (
    "The engine is currently busy and cannot accept new requests. "
    "Please try again later or on a different instance."
)


class _Tokenize(msgspec.Struct):
    prompt: str | None = None
    messages: list[Message] | None = None


class _Lora(msgspec.Struct):
    lora_name: str
    lora_path: str = ""
    load_inplace: bool = False


class VllmDialect(OpenAiDialect):
    """`vllm serve`, with runtime LoRA updating if the profile has LoRA slots."""

    version = "0.32.0"
    shape = VllmAnswers()

    def __init__(self, engine: RealTimeEngine, clock: Callable[[], float]) -> None:
        super().__init__(engine, clock)
        self.adapters = dict.fromkeys(self.profile.adapters, "")
        for path in ("/health", "/ping"):
            self.route("GET", path, lambda _: Reply(200, b""))
        self.route("GET", "/load", self._load)
        self.route("POST", "/tokenize", self._tokenize)
        if self.profile.lora_slots:
            self.route("POST", "/v1/load_lora_adapter", self._load_adapter)
            self.route("POST", "/v1/unload_lora_adapter", self._unload_adapter)

    def models(self, request: Request) -> Reply:
        model = self.profile.model
        cards = [self._card(model, root=model, parent=None, context=self.profile.context)]
        cards += [
            self._card(name, root=path, parent=model, context=None)
            for name, path in self.adapters.items()
        ]
        return json_reply({"object": "list", "data": cards})

    def metrics(self, request: Request) -> Reply:
        return Reply(
            200, metrics_text(self.engine.scheduler, self._clock()), "text/plain; version=1.0.0"
        )

    def served(self, model: str | None) -> tuple[str, str]:
        if model in (None, "", self.profile.model):
            return self.profile.model, ""
        if model in self.adapters:
            return model, model
        aliases = ", ".join((self.profile.model, *self.adapters))
        message = f"The model `{model}` does not exist. Valid aliases: {aliases}."
        raise Refused(error(404, message, "NotFoundError", "model"))

    def invalid(self, fault: Invalid) -> Reply:
        place = f"body.{fault.field}" if fault.field else "body"
        kind = "missing" if fault.is_missing else "value_error" if fault.field else "json_invalid"
        told = f"{{'type': '{kind}', 'loc': '{place}', 'msg': '{fault.message}'}}"
        return error(400, f"1 validation error:\n  {told}", "Bad Request", place)

    def too_long(self, prompt_tokens: int) -> Reply:
        context = self.profile.context
        return error(
            400,
            f"This model's maximum context length is {context} tokens. However, your prompt "
            f"contains at least {context + 1} input tokens, which exceeds this limit even without "
            "any output tokens. Please reduce the length of the input prompt. "
            f"(parameter=input_tokens, value={context + 1})",
            "BadRequestError",
            "input_tokens",
        )

    def output_too_long(self, prompt_tokens: int, limit: int) -> Reply | None:
        context = self.profile.context
        if limit <= context:
            return None
        message = (
            f"max_tokens={limit} cannot be greater than max_model_len={context}. Please request "
            f"fewer output tokens. (parameter=max_tokens, value={limit})"
        )
        return error(400, message, "BadRequestError", "max_tokens")

    def busy(self, *, is_stream: bool) -> Reply:
        reply = error(503, BUSY, "Service Unavailable", None)
        if not is_stream:
            return reply
        return Reply(200, b"data: " + reply.body + b"\n\ndata: [DONE]\n\n", EVENTS)

    def _card(self, name: str, *, root: str, parent: str | None, context: int | None) -> Json:
        return {
            "id": name,
            "object": "model",
            "created": self.created,
            "owned_by": "vllm",
            "root": root,
            "parent": parent,
            "max_model_len": context,
            "permission": [],
        }

    def _load(self, _: Request) -> Reply:
        scheduler = self.engine.scheduler
        return json_reply({"server_load": len(scheduler.running) + len(scheduler.waiting)})

    def _tokenize(self, request: Request) -> Reply:
        try:
            asked = msgspec.json.decode(request.body, type=_Tokenize)
        except msgspec.DecodeError as fault:
            return self.invalid(Invalid("", str(fault)))
        if asked.messages is not None:
            rendered = rendered_chat(asked.messages)
        else:
            rendered = (asked.prompt or "").encode()
        count = count_tokens(rendered)
        told = {"count": count, "max_model_len": self.profile.context}
        return json_reply(told | {"tokens": list(range(count)), "token_strs": None})

    def _load_adapter(self, request: Request) -> Reply:
        asked = self._lora(request)
        if asked.lora_name in self.adapters and not asked.load_inplace:
            message = (
                f"The lora adapter '{asked.lora_name}' has already been loaded. If you want to "
                "load the adapter in place, set 'load_inplace' to True."
            )
            return error(400, message, "InvalidUserInput", None)
        if not asked.lora_path:
            message = "Both 'lora_name' and 'lora_path' must be provided."
            return error(400, message, "InvalidUserInput", None)
        self.adapters[asked.lora_name] = asked.lora_path
        message = f"Success: LoRA adapter '{asked.lora_name}' added successfully."
        return Reply(200, message.encode(), TEXT)

    def _unload_adapter(self, request: Request) -> Reply:
        asked = self._lora(request)
        if asked.lora_name not in self.adapters:
            message = f"The lora adapter '{asked.lora_name}' cannot be found."
            return error(404, message, "NotFoundError", None)
        del self.adapters[asked.lora_name]
        message = f"Success: LoRA adapter '{asked.lora_name}' removed successfully."
        return Reply(200, message.encode(), TEXT)

    def _lora(self, request: Request) -> _Lora:
        try:
            return msgspec.json.decode(request.body, type=_Lora)
        except msgspec.DecodeError as fault:
            raise Refused(self.invalid(Invalid("", str(fault)))) from None


def error(status: int, message: str, kind: str, param: str | None) -> Reply:
    """An error in vLLM's form."""
    told = {"message": message, "type": kind, "param": param, "code": status}
    return json_reply({"error": told}, status)
