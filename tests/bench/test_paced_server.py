"""The bench's own gauge: what it says that it wrote, and when."""

import time

import pytest

from proa.bench.ask import get, post
from proa.bench.decode import VisitLabel, decoded
from proa.bench.paced_server import Pace, PacedServer, parse_curve
from proa.bench.raw import RawExchange
from proa.bench.self_check import StampDelays
from proa.bench.target import TargetSpec


async def answered(pace: Pace, body: bytes) -> tuple[RawExchange, PacedServer, bytes]:
    server = PacedServer(pace)
    listener = server.listen()
    target = TargetSpec(name="t", url=f"http://127.0.0.1:{listener.port}")
    raw = await post(target, body, timeout_s=10.0)
    _, page = await get(target, "/truth")
    listener.close()
    return raw, server, page


async def test_its_truth_and_its_events_tell_when_they_were_written() -> None:
    begun_s = time.monotonic()
    pace = Pace(ttft_s=0.02, role_s=0.01, gap_s=0.003)
    raw, server, page = await answered(pace, b'{"max_tokens":6,"messages":"a b c"}')
    sample = decoded(raw, VisitLabel(0), ("t",), origin_s=0.0)
    (truth,) = server.truths
    assert (sample.failure, sample.output_tokens, truth.tokens) == (None, 6, 6)
    assert sample.input_tokens == round(1.3 * 3) + 8
    assert begun_s <= truth.arrived_s <= truth.first_s - 0.02
    assert sample.first_content_s is not None
    assert sample.first_content_s >= truth.first_s
    assert truth.last_s >= truth.arrived_s + 0.02 + 5 * 0.003
    assert truth.prompt.encode() in page
    delays = StampDelays()
    delays.raw(raw)
    assert len(delays.delays_s) == 6
    assert 0 <= min(delays.delays_s) <= (delays.quantile(0.99) or 0) < 1.0


def test_a_curve_gives_the_gap_by_the_streams_in_flight() -> None:
    pace = Pace(curve=parse_curve("32:0.055,24:0.033"))
    assert [pace.gap_at(n) for n in (1, 24, 28, 32, 99)] == pytest.approx(
        [0.033, 0.033, 0.044, 0.055, 0.055]
    )
    assert Pace(gap_s=0.01).gap_at(7) == 0.01
