"""The builders write the bytes that their names promise."""

import json

from hypothesis import given
from hypothesis import strategies as st

from proa.testing.replies import Framing, cut_at, event_bytes, json_reply, scattered, sse_reply
from proa.testing.steps import Reply, Send


def written(reply: Reply) -> bytes:
    return b"".join(step.data * step.times for step in reply.steps if isinstance(step, Send))


def test_event_forms() -> None:
    assert event_bytes({"a": "가"}) == 'data: {"a":"가"}\n\n'.encode()
    assert event_bytes("x", line_end=b"\r\n", space=False) == b"data:x\r\n\r\n"
    assert event_bytes(b": ping\n\n") == b": ping\n\n"


def test_a_counted_stream_counts_all_its_events() -> None:
    head, _, body = written(sse_reply(["a", "b"], framing=Framing.COUNTED)).partition(b"\r\n\r\n")
    assert body == b"data: a\n\ndata: b\n\ndata: [DONE]\n\n"
    assert b"content-length: %d" % len(body) in head


def test_a_reply_until_close_closes_and_counts_nothing() -> None:
    reply = json_reply({}, framing=Framing.UNTIL_CLOSE)
    assert reply.close
    assert b"content-length" not in written(reply)


@given(st.binary(max_size=300), st.integers(0, 5), st.integers(1, 40))
def test_pieces_join_to_the_whole(data: bytes, seed: int, mean_bytes: int) -> None:
    pieces = cut_at(data, seed=seed, mean_bytes=mean_bytes)
    assert b"".join(pieces) == data
    assert all(pieces)


@given(st.integers(0, 1000), st.integers(0, 100))
def test_the_first_bytes_and_scattering_keep_order(count: int, seed: int) -> None:
    reply = sse_reply([json.dumps(i) for i in range(10)])
    assert written(reply.first_bytes(count)) == written(reply)[:count]
    assert written(scattered(reply, seed=seed)) == written(reply)
