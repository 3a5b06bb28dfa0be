"""Without descriptors the gateway says so, and blames no engine."""

import errno
import os
from collections.abc import Callable
from typing import NoReturn

import pytest
from tests.gateway.harness import serving

from proa.domain.outcome import Outcome
from proa.gateway.link import EngineLink
from proa.testing.raw_response import json_request
from proa.testing.scripted_engine import ScriptedEngine

CHAT = json_request({"model": "scripted", "messages": []})


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL])
async def test_what_the_gateway_lacks_is_no_failure_of_its_engines(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_connection(link: EngineLink, factory: Callable[[], object]) -> NoReturn:
        raise OSError(number, os.strerror(number))

    async with ScriptedEngine() as engine, serving(engine) as gateway:
        with monkeypatch.context() as patch:
            patch.setattr(EngineLink, "connect", no_connection)
            for _ in range(20):
                answer = await gateway.ask(CHAT)
                assert answer.status == 503
                assert answer.header("retry-after") == "1"
                assert os.strerror(number).encode() in answer.body.data
        assert {record.outcome for record in gateway.records} == {Outcome.CANCELLED.label}
        assert (await gateway.ask(CHAT)).status == 200
