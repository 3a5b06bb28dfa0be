"""A gateway with the guard on, and made-up personal data for its tests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.gateway.harness import AnyEngine, Gateway, serving

from proa.guard.policy import GuardSettings
from proa.telemetry.rows import GUARD_AT, guard_cell
from proa.testing.raw_response import RawResponse, json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply
from proa.testing.steps import Reply

PHONE = "010-1234-5678"
MAIL = "hong@example.com"
RESIDENT = "900101-9234567"  # of somebody born in 1890
TEXT = f"제 번호는 {PHONE}이고 메일은 {MAIL}입니다"
CHAT = "/v1/chat/completions"
SECRETS = (PHONE, MAIL, RESIDENT)


@asynccontextmanager
async def guarding(*engines: AnyEngine, mode: Any = "mask", **more: Any) -> AsyncIterator[Gateway]:
    """`more` are fields of `GuardSettings`, and of `GatewaySettings` in `settings`."""
    settings = more.pop("settings", {})
    guard = GuardSettings(mode=mode, **more)
    async with serving(*engines, guard=guard, **settings) as gateway:
        yield gateway
        gateway.plane.guard_helper.close()


def chat_request(text: str = TEXT, path: str = CHAT, **fields: Any) -> bytes:
    message = {"role": "user", "content": text}
    body = {"model": "scripted", "messages": [message]} | fields
    return json_request(body, path)


def content(answer: RawResponse) -> str:
    """What a whole chat answer says."""
    said = json.loads(answer.body.data)["choices"][0]["message"]["content"]
    assert isinstance(said, str)
    return said


def said(request: ReceivedRequest) -> str:
    """The last message that an engine got."""
    message = fields(request)["messages"][-1]["content"]
    assert isinstance(message, str)
    return message


def fields(request: ReceivedRequest) -> dict[str, Any]:
    """The body that an engine got."""
    found = request.json()
    assert isinstance(found, dict)
    return found


def echo(request: ReceivedRequest) -> Reply:
    """Answers a chat with its own last message."""
    message = {"role": "assistant", "content": f"말씀하신 것은: {said(request)}"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 3}
    return json_reply({"id": "c", "object": "chat.completion", "created": 1, "model": "scripted",
                       "choices": [choice], "usage": usage})  # fmt: skip


def findings(gateway: Gateway, type_: str, action: str, *, in_answer: bool = False) -> int:
    gateway.plane.flush_counters()
    return gateway.row[GUARD_AT + guard_cell(type_, action, in_answer=in_answer)]


def guard_count(gateway: Gateway, cell: int) -> int:
    gateway.plane.flush_counters()
    return gateway.row[GUARD_AT + cell]
