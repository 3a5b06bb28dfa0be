"""Recorded loads, in the forms that are around."""

import pytest

from proa.bench.trace import TraceRow, read_trace
from proa.errors import FieldError


def test_plain_rows_are_sorted_and_begin_at_zero() -> None:
    lines = [
        b'{"time": 12.5, "input_tokens": 100, "output_tokens": 20}',
        b"",
        b'{"time": 10.0, "input_tokens": 50, "output_tokens": 5}',
    ]
    assert read_trace(lines, name="t") == [TraceRow(0.0, 50, 5), TraceRow(2.5, 100, 20)]
    assert read_trace(lines, name="t", speed=2.0)[1].at_s == pytest.approx(1.25)


def test_mooncake_counts_milliseconds() -> None:
    """Source: kvcache-ai/Mooncake, the FAST25 traces."""
    lines = [
        b'{"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1]}',
        b'{"timestamp": 3052, "input_length": 7319, "output_length": 490, "hash_ids": [0, 14]}',
    ]
    assert read_trace(lines, name="t")[1] == TraceRow(3.052, 7319, 490)


def test_the_gateways_log_is_a_trace() -> None:
    """`ts` is the end; refusals and events are no requests to replay."""
    line = (
        b'{"ts":"2026-01-01T00:00:%02d.500Z","request_id":"r","method":"POST","path":"/v1/c",'
        b'"status":200,"outcome":"ok","duration_ms":%d,"prompt_tokens":%b,"completion_tokens":9}'
    )
    event = b'{"ts":"2026-01-01T00:00:00.000Z","level":"info","message":"started"}'
    lines = [line % (5, 4000, b"70"), line % (3, 1000, b"80"), line % (4, 10, b"null"), event]
    rows = read_trace(lines, name="t")
    assert [(row.at_s, row.input_tokens) for row in rows] == [(0.0, 70), (pytest.approx(1.0), 80)]


@pytest.mark.parametrize(
    "line", [b"[1]", b'{"time": 1}', b'{"time": "now", "input_tokens": 1, "output_tokens": 1}']
)
def test_other_lines_are_refused_with_their_number(line: bytes) -> None:
    with pytest.raises(FieldError, match="t:1"):
        read_trace([line], name="t")
    with pytest.raises(FieldError, match="at least one line"):
        read_trace([], name="t")
