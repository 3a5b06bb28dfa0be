"""The hop that delays: what it says that it did, it did."""

import asyncio

import pytest

from proa.bench.ask import post
from proa.bench.decode import VisitLabel, decoded
from proa.bench.paced_server import Pace, PacedServer
from proa.bench.sample import RequestSample
from proa.bench.target import TargetSpec
from proa.testing.delay_proxy import ClientSide, Hop


async def through(hop: Hop, tokens: int = 6) -> RequestSample:
    """One answer through the hop, before a server of its own."""
    loop = asyncio.get_running_loop()
    server = PacedServer(Pace(gap_s=0.002))
    engine = server.listen()
    hop.port = engine.port
    listener = await loop.create_server(lambda: ClientSide(hop), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    body = b'{"max_tokens":%d,"messages":"a b"}' % tokens
    raw = await post(TargetSpec(name="t", url=url), body, timeout_s=10.0)
    listener.close()
    engine.close()
    return decoded(raw, VisitLabel(0), ("t",), origin_s=0.0)


async def test_it_waits_at_least_as_long_as_it_was_told_and_says_how_long() -> None:
    hop = Hop(host="127.0.0.1", port=0, request_s=0.01, event_s=0.001)
    sample = await through(hop)
    truth = hop.truth()
    assert (sample.failure, sample.output_tokens) == (None, 6)
    assert sample.ttft_s is not None
    assert sample.ttft_s >= truth["request_s"] + truth["event_s"] - 1e-6
    assert truth["request_s"] >= 0.01
    assert truth["event_s"] >= 0.001
    assert (truth["requests"], truth["events"]) == (1, 10)


@pytest.mark.parametrize("hold", [0, 100])
async def test_what_it_holds_back_comes_at_once(hold: int) -> None:
    sample = await through(Hop(host="127.0.0.1", port=0, hold=hold))
    assert (sample.failure, sample.output_tokens, sample.reads) == (None, 6, 1)
    assert sample.is_impossibly_fast
