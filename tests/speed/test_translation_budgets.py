"""What an event in the middle of a translated stream costs, in calls and lines of ours.

On a quiet machine 3 to 5 µs, of which the relay that any event passes is 1; a chain of two
translations twice that.
"""

from collections.abc import Callable

import pytest
from tests.speed.counting import Cost, cost_of
from tests.wire.translate.contexts import body, chat, context

from proa.gateway.translated_relay import TranslatedRelay
from proa.wire.surface import surface_of
from proa.wire.translate.base import Translation
from proa.wire.translate.chain import Chain
from proa.wire.translate.chat_tgi import TgiTranslation
from proa.wire.translate.chat_triton import TritonTranslation
from proa.wire.translate.messages_chat import MessagesTranslation

CHAT, MESSAGES = b"/v1/chat/completions", b"/v1/messages"
TRITON_EVENT = b'data: {"model_name":"m","model_version":"1","text_output":" hello"}\n\n'
TGI_EVENT = (
    b'data:{"index":1,"token":{"id":5,"text":" hello","logprob":-0.53,"special":false},'
    b'"generated_text":null,"details":null}\n\n'
)
CHAT_EVENT = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1700000000,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":" hello"},"finish_reason":null}]}\n\n'
)


def triton() -> Translation:
    return TritonTranslation(chat(stream=True), context(), model=None, chat=True)


def tgi() -> Translation:
    return TgiTranslation(chat(stream=True), context(), model=None, chat=True)


def messages() -> Translation:
    said = [{"role": "user", "content": "hi"}]
    asked = body(model="m", max_tokens=9, stream=True, messages=said)
    return MessagesTranslation(asked, context(), model=None)


def chain() -> Translation:
    outer = messages()
    return Chain(outer, TritonTranslation(outer.body, context(), model=None, chat=True))


BUDGETS = {
    "triton": (CHAT, triton, TRITON_EVENT, Cost(37, 61)),
    "tgi": (CHAT, tgi, TGI_EVENT, Cost(32, 58)),
    "messages": (MESSAGES, messages, CHAT_EVENT, Cost(33, 68)),
    "messages on triton": (MESSAGES, chain, TRITON_EVENT, Cost(63, 118)),
}


@pytest.mark.parametrize(("path", "make", "event", "budget"), BUDGETS.values(), ids=BUDGETS)
def test_an_event_stays_within_its_budget(
    path: bytes, make: Callable[[], Translation], event: bytes, budget: Cost
) -> None:
    relay = TranslatedRelay(surface_of(path), make())
    relay.feed(event)
    cost = cost_of(lambda: relay.feed(event), 8)
    assert cost.calls <= budget.calls, cost
    assert cost.lines <= budget.lines, cost
