"""Frames over pipes, cut anywhere."""

from hypothesis import given, settings
from hypothesis import strategies as st

from proa.bench.process_messages import Ended, Frames, Over, Pulse, frame, from_client, to_client
from proa.bench.raw import Asked, RawEnd, RawExchange


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1))
def test_frames_come_out_whole_however_they_come_in(sizes: list[int]) -> None:
    raw = RawExchange(
        Asked(1, 0, 2, "p", 3, 4, None), 0.5, 0.6, [0.7], [b"\x00\xff"], 0.8, RawEnd.CLOSED
    )
    sent: list[Ended | Over] = [Ended(raw), Over(0, 9), Ended(raw)]
    data = b"".join(frame(message) for message in sent)
    frames, got, at = Frames(), [], 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        got += [from_client.decode(piece) for piece in frames.feed(data[at : at + size])]
        at += size
    assert got == sent
    (pulse,) = Frames().feed(frame(Pulse(1.5)))
    assert to_client.decode(pulse) == Pulse(1.5)
