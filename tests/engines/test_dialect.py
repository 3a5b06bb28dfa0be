"""What engines lack, how it is learned, and which translation a request gets."""

import json

import pytest
from tests.wire.translate.contexts import body, chat, context

from proa.domain.fleet import EngineKind, EngineSpec
from proa.engines.dialect import (
    CHAT,
    COMPLETIONS,
    COUNT_TOKENS,
    MESSAGES,
    Dialect,
    dialect_of,
    says_no_route,
)
from proa.wire.surface import surface_of
from proa.wire.translate.base import Untranslatable

ALL = (CHAT, COMPLETIONS, MESSAGES, COUNT_TOKENS)
MESSAGE = body(model="m", max_tokens=4, messages=[{"role": "user", "content": "hi"}])


def dialect(kind: EngineKind, lacks: tuple[str, ...] | None = None) -> Dialect | None:
    return dialect_of(EngineSpec(name="e", url="http://e", lacks=lacks), kind)


def known(kind: EngineKind, lacks: tuple[str, ...] | None = None) -> Dialect:
    found = dialect(kind, lacks)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", [EngineKind.VLLM, EngineKind.SGLANG, EngineKind.LLAMACPP])
def test_engines_that_speak_everything_have_no_dialect(kind: EngineKind) -> None:
    assert dialect(kind) is None


@pytest.mark.parametrize(
    ("kind", "lacks", "may_lack"),
    [
        (EngineKind.TRITON, set(ALL), set()),
        (EngineKind.TGI, {MESSAGES, COUNT_TOKENS}, {CHAT, COMPLETIONS}),
        (EngineKind.OLLAMA, set(), {MESSAGES, COUNT_TOKENS}),
        (EngineKind.OPENAI, set(), {MESSAGES, COUNT_TOKENS}),
        (EngineKind.AUTO, set(), {MESSAGES, COUNT_TOKENS}),
    ],
)
def test_what_each_kind_lacks(kind: EngineKind, lacks: set[str], may_lack: set[str]) -> None:
    found = known(kind)
    assert (found.lacks, set(found.may_lack)) == (lacks, may_lack)


def test_the_configuration_has_the_last_word() -> None:
    found = known(EngineKind.VLLM, (MESSAGES,))
    assert (found.lacks, found.may_lack) == ({MESSAGES}, frozenset())
    assert dialect(EngineKind.OPENAI, ()) is None


def test_what_is_concerned() -> None:
    found = known(EngineKind.OPENAI)
    assert concerned(found) == {MESSAGES, COUNT_TOKENS}
    assert concerned(known(EngineKind.TRITON)) == set(ALL)
    assert concerned(known(EngineKind.TGI)) == set(ALL)
    assert found.learns(MESSAGES, 404, b"")
    assert concerned(found) == {MESSAGES, COUNT_TOKENS}


def concerned(found: Dialect) -> set[str]:
    """Of all paths those whose surfaces have a bit of the dialect's."""
    paths = (*ALL, "/v1/embeddings", "/v1/responses", "/api/chat", "/v2/models/m/generate", "/x")
    return {path for path in paths if surface_of(path.encode()).translation_bit & found.bits}


@pytest.mark.parametrize(
    ("status", "answer", "told"),
    [
        (404, b"", True),
        (404, b"404 page not found", True),
        (405, b'{"detail":"Method Not Allowed"}', True),
        (404, b'{"detail":"Not Found"}', True),
        (404, b'{"error":{"message":"The model `x` does not exist","code":404}}', False),
        (404, b'{"object":"error","message":"no model"}', False),
        (400, b"", False),
        (500, b"", False),
    ],
)
def test_an_answer_that_says_no_such_route(status: int, answer: bytes, told: bool) -> None:
    assert says_no_route(status, answer) is told


def test_it_is_learned_once() -> None:
    found = known(EngineKind.OPENAI)
    assert not found.learns(MESSAGES, 404, b'{"error":"no such model"}')
    assert not found.learns(CHAT, 404, b"")
    assert found.learns(MESSAGES, 404, b"")
    assert not found.learns(MESSAGES, 404, b"")
    assert MESSAGES in found.lacks


def target(found: Dialect, path: str, request: bytes) -> tuple[str, bytes] | None:
    made = found.translate(path, request, context(), model="m")
    return None if made is None else (made.name, made.target)


def test_the_way_of_each_request() -> None:
    triton, tgi = known(EngineKind.TRITON), known(EngineKind.TGI)
    completion = body(model="m", prompt="x")
    assert target(triton, CHAT, chat()) == ("triton", b"/v2/models/m/generate")
    assert target(triton, COMPLETIONS, completion) == ("triton", b"/v2/models/m/generate")
    assert target(triton, MESSAGES, MESSAGE) == ("triton", b"/v2/models/m/generate")
    assert target(tgi, CHAT, chat()) is None
    assert target(tgi, MESSAGES, MESSAGE) == ("chat", b"/v1/chat/completions")
    assert tgi.learns(CHAT, 404, b"")
    assert target(tgi, CHAT, chat()) == ("tgi", b"/generate")
    assert target(tgi, MESSAGES, MESSAGE) == ("tgi", b"/generate")
    assert target(tgi, COMPLETIONS, completion) is None


def test_a_kind_without_an_api_of_its_own_gets_chats_as_they_are() -> None:
    found = known(EngineKind.VLLM, (CHAT, MESSAGES))
    assert target(found, CHAT, chat()) is None
    assert target(found, MESSAGES, MESSAGE) == ("chat", b"/v1/chat/completions")


def test_a_chain_has_the_fields_of_both() -> None:
    made = known(EngineKind.TRITON).translate(MESSAGES, MESSAGE, context(), model=None)
    assert made is not None
    assert json.loads(made.body)["max_tokens"] == 4


def test_what_can_not_be_said_is_refused() -> None:
    with pytest.raises(Untranslatable):
        known(EngineKind.TRITON).translate(CHAT, chat(n=2), context(), model=None)
