"""Rows hold all of a sample, to the last bit."""

from hypothesis import given, settings
from hypothesis import strategies as st

from proa.bench.keep.rows import (
    COLUMNS,
    SAMPLE_COLUMNS,
    packed_events,
    row_sample,
    sample_row,
    unpacked_events,
)
from proa.bench.keep.schema import TABLES
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource

seconds = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**32 - 1)
events = st.lists(st.builds(ContentEvent, seconds, counts, counts)).map(tuple)
samples = st.builds(
    RequestSample,
    number=st.integers(0, 2**40),
    target=st.text(),
    level=st.integers(0, 99),
    user=st.integers(0, 9999),
    users=st.none() | st.integers(1, 99),
    rate=st.none() | seconds,
    is_stopped=st.booleans(),
    sent_s=seconds,
    first_content_s=st.none() | seconds,
    failure=st.none() | st.sampled_from(Failure),
    failure_text=st.text(),
    output_tokens=st.none() | st.integers(0, 10**6),
    token_source=st.none() | st.sampled_from(TokenSource),
    hidden_reasoning=st.booleans(),
    events=events,
)


@settings(max_examples=40)
@given(events)
def test_events_come_back(told: tuple[ContentEvent, ...]) -> None:
    assert unpacked_events(packed_events(told)) == told


@settings(max_examples=40)
@given(samples)
def test_samples_come_back(told: RequestSample) -> None:
    row = sample_row(1, told, 2.0)
    assert len(row) == len(COLUMNS)
    assert row_sample(row) == told


def test_the_table_has_a_column_for_all_but_the_marks() -> None:
    table = TABLES.split("CREATE TABLE requests")[1].split("CREATE TABLE")[0]
    assert [name for name in COLUMNS if f" {name} " not in table] == []
    marks = set(RequestSample.__struct_fields__) - set(SAMPLE_COLUMNS)
    assert marks == {"is_warmup", "is_filler", "events"}
