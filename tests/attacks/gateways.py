"""A gateway with keys before an engine that echoes, and the innocent who asks beside an attack."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from tests.gateway.harness import Gateway, key_spec, serving

from proa.gateway.settings import LimitsSettings
from proa.testing.raw_response import request_bytes
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply

USER = ("authorization", "Bearer user")
ADMIN = ("authorization", "Bearer admin")
LIMITS = LimitsSettings(max_head_bytes=16_384, max_body_bytes=4 * 2**20)
KEYS = (
    key_spec("user", "user"),
    msgspec.structs.replace(key_spec("boss", "admin"), admin=True),
)


def echo(request: ReceivedRequest) -> Reply:
    """An answer that tells what was asked, so that a mix-up shows."""
    return json_reply({"target": request.target, "body": request.body.decode("latin-1")})


@asynccontextmanager
async def under_attack(**settings: Any) -> AsyncIterator[tuple[Gateway, ScriptedEngine]]:
    """The gateway and its engine, which saw nothing that HTTP does not allow."""
    async with (
        ScriptedEngine(echo) as engine,
        serving(engine, limits=LIMITS, keys=KEYS, **settings) as gateway,
    ):
        yield gateway, engine


async def innocent(gateway: Gateway) -> None:
    """Somebody else's request, which gets its own answer and nothing of anybody's."""
    body = b'{"model":"scripted","prompt":"innocent"}'
    headers = [USER, ("x-innocent", "yes"), ("x-request-id", "innocent-1")]
    answer = await gateway.ask(request_bytes("/v1/completions", body, headers=headers))
    assert (answer.status, answer.header("x-request-id")) == (200, "innocent-1")
    assert answer.body.json() == {"target": "/v1/completions", "body": body.decode()}
