"""Quotas of tenants in a gateway: what is let in, what is counted, and what clients are told."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from tests.gateway.crowd import user_of
from tests.gateway.harness import Gateway, key_spec, serving

from proa.domain.tenant import BudgetSpec, QuotaSpec
from proa.gateway.quota_answer import duration
from proa.gateway.quota_tokens import OutputGuess
from proa.gateway.settings import TenantSpec
from proa.telemetry.rows import Tenant
from proa.testing.chat import chat_completion, chat_events, usage
from proa.testing.raw_response import RawResponse, json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Reset, WaitFor

KEYS = (key_spec("anna", "a", tenant="sales"), key_spec("root", "r"))
PATH = "/v1/chat/completions"
SAID = [{"role": "user", "content": "word " * 40}]


def tenant(**quota: object) -> tuple[TenantSpec, ...]:
    return (TenantSpec(name="sales", quota=QuotaSpec(**quota)),)  # type: ignore[arg-type]


def ask(path: str = PATH, key: str = "a", **body: object) -> bytes:
    asked = {"model": "scripted", "messages": SAID, "max_tokens": 100} | body
    return json_request(asked, path, headers=[("x-api-key", key)])


def answer(prompt: int, completion: int) -> Reply:
    return json_reply(chat_completion() | {"usage": usage(prompt, completion)})


def code(response: RawResponse) -> tuple[int, object]:
    body = response.body.json()
    assert isinstance(body, dict)
    return response.status, body["error"]["code"]


def used(gateway: Gateway) -> tuple[int, int]:
    """Input and output tokens that were counted; nothing may be held any more."""
    held = gateway.tenant("sales", Tenant.HELD_INPUT), gateway.tenant("sales", Tenant.HELD_OUTPUT)
    assert held == (0, 0)
    return (
        gateway.tenant("sales", Tenant.INPUT_TOKENS),
        gateway.tenant("sales", Tenant.OUTPUT_TOKENS),
    )


async def test_parallel_requests_pass_a_limit_by_one_request_at_most() -> None:
    """https://github.com/BerriAI/litellm/issues/18730"""
    gone_on = asyncio.Event()

    def script(request: ReceivedRequest) -> Reply:
        del request
        return answer(75, 100).preceded_by(WaitFor(gone_on))

    async with (
        ScriptedEngine(script) as engine,
        serving(engine, keys=KEYS, tenants=tenant(tokens_per_minute=100)) as gateway,
        AsyncExitStack() as stack,
    ):
        clients = [await stack.enter_async_context(gateway.client()) for _ in range(5)]
        for client in clients:
            await client.send(ask())
        await gateway.until(lambda: gateway.tenant("sales", Tenant.REFUSED_RATE) == 4, "refusals")
        gone_on.set()
        answers = [await client.read_response() for client in clients]
        assert sorted(a.status for a in answers) == [200, 429, 429, 429, 429]
        refused = next(a for a in answers if a.status == 429)
        assert code(refused) == (429, "rate_limit_exceeded")
        assert refused.header("retry-after") == "1"  # an open request may end at any time
        assert used(gateway) == (75, 100)
        later = await gateway.ask(ask())
        assert code(later) == (429, "rate_limit_exceeded")
        assert 59 <= int(later.header("retry-after") or 0) <= 61
        assert (await gateway.ask(ask(key="r"))).status == 200  # another tenant
        gateway.advance(61.5)
        assert (await gateway.ask(ask())).status == 200


async def test_headers_tell_what_is_left_in_the_forms_of_openai() -> None:
    quota = tenant(requests_per_minute=3, tokens_per_minute=1000, output_tokens_per_minute=500)
    async with (
        ScriptedEngine(lambda request: answer(60, 40)) as engine,
        serving(engine, keys=KEYS, tenants=quota) as gateway,
    ):
        for left in (2, 1):
            told = await gateway.ask(ask(max_tokens=100))
            assert told.status == 200
            assert told.header("x-ratelimit-limit-requests") == "3"
            assert told.header("x-ratelimit-remaining-requests") == str(left)
            assert told.header("x-ratelimit-limit-tokens") == "500"
            assert told.header("x-request-id")
        assert told.header("x-ratelimit-remaining-tokens") == "360"  # 500 - 40 - 100
        reset = told.header("x-ratelimit-reset-tokens")
        assert reset is not None
        assert reset.startswith(("1m0", "59.", "1m1"))
        streamed = await gateway.ask(ask(stream=True))
        assert streamed.header("x-ratelimit-remaining-requests") == "0"
        refused = await gateway.ask(ask())
        assert code(refused) == (429, "rate_limit_exceeded")
        assert refused.header("x-ratelimit-remaining-requests") == "0"
        assert "requests_per_minute = 3" in refused.body.data.decode()
        assert (await gateway.ask(ask(key="r"))).header("x-ratelimit-limit-requests") is None


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ({"tokens_per_day": 150}, "insufficient_quota"),
        ({"tokens_per_month": 150}, "insufficient_quota"),
        (
            {"budget": BudgetSpec(per_month=0.5, per_million_input_tokens=3000,
                                  per_million_output_tokens=4000)},
            "budget_exhausted",
        ),
    ],
)  # fmt: skip
async def test_days_months_and_money_end_with_their_own_codes(
    quota: dict[str, object], expected: str
) -> None:
    async with (
        ScriptedEngine(lambda request: answer(100, 100)) as engine,
        serving(engine, keys=KEYS, tenants=tenant(**quota)) as gateway,
    ):
        assert (await gateway.ask(ask(max_tokens=1))).status == 200
        refused = await gateway.ask(ask())
        assert code(refused) == (429, expected)
        assert refused.header("x-should-retry") == "false"
        assert int(refused.header("retry-after") or 0) >= 1
        anthropic = await gateway.ask(ask("/v1/messages"))
        assert anthropic.status == 429
        assert anthropic.body.json()["error"]["type"] == "rate_limit_error"  # type: ignore[index]
        assert used(gateway) == (100, 100)
        assert gateway.tenant("sales", Tenant.COST) == (700_000 if "budget" in quota else 0)


LIMITED = {"tokens_per_minute": 100_000}


async def test_what_engines_do_not_tell_is_estimated() -> None:
    replies = {
        "whole": json_reply(chat_completion()),
        "silent": json_reply({"choices": [], "text": "x" * 400}),
        "events": sse_reply(chat_events(["one ", "two ", "three "] * 20, with_usage=False)),
        "refused": json_reply({"error": {"message": "no"}}, status=400),
        "down": json_reply({"error": {"message": "down"}}, status=500),
    }
    counted: dict[str, tuple[int, int]] = {}
    async with (
        ScriptedEngine(lambda request: replies[user_of(request)]) as engine,
        serving(engine, keys=KEYS, tenants=tenant(**LIMITED)) as gateway,
    ):
        for name in replies:
            before = used(gateway)
            await gateway.ask(ask(user=name, stream=name == "events"))
            now = used(gateway)
            counted[name] = now[0] - before[0], now[1] - before[1]
    assert counted["whole"] == (11, 3)
    assert 25 <= counted["silent"][0] <= 80
    assert 100 <= counted["silent"][1] <= 120
    assert 25 <= counted["events"][0] <= 80
    assert 25 <= counted["events"][1] <= 90  # 60 events
    assert counted["refused"] == counted["down"] == (0, 0)


async def test_a_client_that_leaves_has_used_what_was_sent() -> None:
    gone_on = asyncio.Event()
    parts = sse_reply(chat_events(["word "] * 30, with_usage=False))

    def script(request: ReceivedRequest) -> Reply:
        name = user_of(request)
        if name == "early":
            return parts.preceded_by(WaitFor(gone_on))
        return Reply(parts.steps[:-1]).followed_by(
            Reset() if name == "broken" else WaitFor(gone_on)
        )

    async with (
        ScriptedEngine(script) as engine,
        serving(engine, keys=KEYS, tenants=tenant(**LIMITED)) as gateway,
    ):
        async with gateway.client() as client:
            await client.send(ask(user="early", stream=True))
            await gateway.until(lambda: len(engine.requests) == 1, "request")
        await gateway.until_idle()
        early = used(gateway)
        assert 25 <= early[0] <= 80
        assert early[1] == 0
        async with gateway.client() as client:
            await client.send(ask(user="late", stream=True))
            await client.read_head()
        await gateway.until_idle()
        late = used(gateway)
        assert 25 <= late[0] - early[0] <= 80
        assert 1 <= late[1] <= 45
        await gateway.ask(ask(user="broken", stream=True))
        assert used(gateway)[0] - late[0] == late[0] - early[0]
        gone_on.set()


async def test_what_makes_no_tokens_holds_none_and_other_methods_are_not_counted() -> None:
    async with (
        ScriptedEngine(lambda request: answer(5, 0)) as engine,
        serving(engine, keys=KEYS, tenants=tenant(output_tokens_per_minute=10)) as gateway,
    ):
        for _ in range(3):
            told = await gateway.ask(ask("/v1/embeddings", max_tokens=None, input="text"))
            assert told.header("x-ratelimit-remaining-tokens") == "10"
        assert (await gateway.ask(ask(n=4, max_tokens=3))).header(
            "x-ratelimit-remaining-tokens"
        ) == "0"


async def test_limits_that_change_keep_what_was_used() -> None:
    async with (
        ScriptedEngine(lambda request: answer(60, 60)) as engine,
        serving(engine, keys=KEYS, tenants=tenant(tokens_per_minute=100)) as gateway,
    ):
        assert [(await gateway.ask(ask())).status for _ in range(2)] == [200, 429]
        settings = gateway.plane.settings
        changed = {"keys": KEYS, "tenants": tenant(tokens_per_minute=121)}
        gateway.apply(type(settings)(engines=settings.engines, **changed))  # type: ignore[arg-type]
        gateway.see()
        assert [(await gateway.ask(ask())).status for _ in range(2)] == [200, 429]


def test_an_unlimited_answer_is_expected_to_be_a_long_one() -> None:
    guess = OutputGuess()
    assert guess.tokens == 1024
    guess.learn(9000)
    assert guess.tokens == 9000
    for _ in range(64):
        guess.learn(1000)
    assert 3500 < guess.tokens < 4500


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, b"0s"), (0.02, b"20ms"), (1, b"1s"), (8.64, b"8.64s"), (360, b"6m0s"),
     (0.9999, b"1s"), (59.9999, b"1m0s"), (3630, b"1h0m30s")],
)  # fmt: skip
def test_times_are_written_as_openai_writes_them(seconds: float, told: bytes) -> None:
    assert duration(seconds) == told
