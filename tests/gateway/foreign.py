"""Engines of another API than the client's, scripted, and requests to them."""

import json
from typing import Any

import anthropic
import openai
from tests.gateway.harness import Gateway

from proa.domain.fleet import EngineKind, EngineSpec
from proa.testing.raw_response import RawResponse, json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import body_reply, json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply

CHAT, COMPLETIONS, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/messages"
COUNT = "/v1/messages/count_tokens"
HI = [{"role": "user", "content": "안녕"}]
TRITON_WHOLE = json_reply({"model_name": "scripted", "model_version": "1", "text_output": "a b"})
TGI_WHOLE = json_reply(
    {"generated_text": "a b", "details": {"finish_reason": "length", "generated_tokens": 2}},
    headers=(("x-prompt-tokens", "5"),),
)
NO_ROUTE = body_reply([b""], status=404, content_type="text/plain")


def triton_events(*texts: str) -> list[Any]:
    return [{"model_name": "m", "model_version": "1", "text_output": text} for text in texts]


def triton_stream(*events: Any) -> Reply:
    return sse_reply(events or triton_events("a ", "b"), done=False)


def tgi_event(text: str, details: Any = None) -> dict[str, Any]:
    token = {"id": 1, "text": text, "logprob": 0.0, "special": False}
    return {"index": 1, "token": token, "generated_text": None, "details": details}


TGI_DETAILS = {"finish_reason": "eos_token", "generated_tokens": 2, "input_length": 5}
TGI_STREAM = sse_reply([tgi_event("a "), tgi_event("b", TGI_DETAILS)], done=False, space=False)


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


def by_path(**replies: Reply) -> ScriptedEngine:
    """An engine with these routes (`chat`, `messages`, `generate` ...) and no others."""

    def reply(request: ReceivedRequest) -> Reply:
        return replies.get(request.path.rpartition("/")[2], NO_ROUTE)

    return ScriptedEngine(reply)


def spec(
    engine: ScriptedEngine, kind: EngineKind = EngineKind.TRITON, name: str = "main", **more: Any
) -> EngineSpec:
    return EngineSpec(name=name, url=engine.url, kind=kind, **more)


def ask(path: str = CHAT, **fields: Any) -> bytes:
    given: dict[str, Any] = {"model": "scripted"}
    given |= {"prompt": "안녕"} if path == COMPLETIONS else {"messages": HI}
    if path == MESSAGES:
        given["max_tokens"] = 9
    return json_request(given | fields, path)


def client(gateway: Gateway) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="k", max_retries=0, timeout=10)


def anthropic_client(gateway: Gateway) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=gateway.url, api_key="k", max_retries=0, timeout=10)


def decoded(answer: RawResponse) -> Any:
    return json.loads(answer.body.data)
