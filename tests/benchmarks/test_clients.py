"""The benchmark's clients take right answers however they are cut, and no others."""

import asyncio
from operator import ne
from typing import cast

import pytest
from benchmarks.clients import Client, JsonClient, Load, StreamClient, WrongAnswer
from benchmarks.requests import chat_requests
from benchmarks.subjects import Subject

from proa.testing.chat import chat_events
from proa.testing.replies import chunk, event_bytes, head_bytes

BODY = b'{"answer":1}'
ANSWER = head_bytes(200, [("Content-Length", str(len(BODY)))]) + BODY
EVENTS = [*map(event_bytes, chat_events()), event_bytes("[DONE]")]
STREAM = head_bytes(200, [("transfer-encoding", "chunked")]) + b"".join(map(chunk, (*EVENTS, b"")))


class Kept:
    """A transport that keeps what is written, and whether it was closed."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.ended = ""

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


def connected(client: Client) -> Kept:
    kept = Kept()
    client.connection_made(cast(asyncio.Transport, kept))
    return kept


async def test_one_request_after_another() -> None:
    load = Load()
    client = JsonClient(load, [b"one", b"two"], BODY)
    kept = connected(client)
    for at in range(1, len(ANSWER)):
        client.data_received(ANSWER[:at])
        client.data_received(ANSWER[at:])
        assert load.count == at
    assert kept.written[:3] == [b"one", b"two", b"one"]
    load.stopping = True
    client.data_received(ANSWER)
    assert (kept.ended, load.ended.done(), load.open) == ("closed", True, 0)


@pytest.mark.parametrize(
    "answer",
    [
        ANSWER.replace(b" 200 ", b" 503 "),
        ANSWER.replace(b"Length", b"Langth"),
        ANSWER + b"x" * 5000,
    ],
)
async def test_another_answer_ends_the_load(answer: bytes) -> None:
    load = Load()
    kept = connected(client := JsonClient(load, [b"one"], BODY))
    client.data_received(answer)
    assert kept.ended == "aborted"
    with pytest.raises(WrongAnswer):
        await load.ended


async def test_a_lost_connection_ends_the_load() -> None:
    load = Load()
    connected(client := JsonClient(load, [b"one"], BODY))
    client.connection_lost(None)
    with pytest.raises(WrongAnswer, match="in the middle"):
        await load.ended


async def test_events_are_counted_however_they_are_cut() -> None:
    head = STREAM.find(b"\r\n\r\n") + 4
    for at in range(head, len(STREAM)):
        load = Load()
        kept = connected(client := StreamClient(load, b"ask", len(EVENTS)))
        client.data_received(STREAM[:at])
        client.data_received(STREAM[at:])
        await load.ended
        assert (load.count, load.begun, kept.ended) == (len(EVENTS), 1, "closed")


@pytest.mark.parametrize(
    "stream",
    [
        STREAM.replace(chunk(EVENTS[1]), b""),
        STREAM.replace(b"[DONE]", b"[DINE]"),
        STREAM.replace(b" 200 ", b" 502 "),
    ],
)
async def test_another_stream_ends_the_load(stream: bytes) -> None:
    load = Load()
    connected(client := StreamClient(load, b"ask", len(EVENTS)))
    client.data_received(stream)
    with pytest.raises(WrongAnswer):
        await load.ended


@pytest.mark.parametrize("stream", [False, True])
def test_requests_differ_in_length_and_say_it(stream: bool) -> None:
    lengths = []
    for request in chat_requests(Subject("any", 80, key="k"), stream=stream):
        head, _, body = request.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        assert b"content-length: %d" % len(body) in lines
        assert b"authorization: bearer k" in lines
        assert (b'"stream":true' in body) is stream
        lengths.append(len(body))
    assert all(map(ne, lengths, [*lengths[1:], lengths[0]]))
