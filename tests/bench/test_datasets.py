"""One's own prompts."""

import pytest

from proa.bench.datasets import DatasetRow, read_dataset
from proa.errors import FieldError

USER = {"role": "user", "content": "Hi"}


def test_messages_and_prompts_by_the_line() -> None:
    data = (
        b'{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}\n\n{"prompt": "Hi"}\n'
    )
    assert read_dataset(data, name="d") == [DatasetRow([USER], 9), DatasetRow([USER])]


def test_sharegpt_ends_with_the_users_last_turn() -> None:
    """Source: the form of ShareGPT_V3_unfiltered_cleaned_split.json."""
    data = b"""[{"id": "x", "conversations": [{"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Hello"}, {"from": "human", "value": "Why?"},
        {"from": "gpt", "value": "So."}]}]"""
    (row,) = read_dataset(data, name="d")
    assert [m["role"] for m in row.messages] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b'{"messages": []}', b'{"messages": ["x"]}', b"nonsense", b"[1]",
     b'{"conversations": [{"from": "gpt", "value": "x"}]}'],
)  # fmt: skip
def test_other_rows_are_refused(data: bytes) -> None:
    with pytest.raises(FieldError, match=r"^d"):
        read_dataset(data, name="d")
