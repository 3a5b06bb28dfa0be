"""The text of keys.toml changes in one table and nowhere else."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from proa.config.keys_text import with_values, without_table

TEXT = """\
# ours
[[keys]]
name = "a"   # Anna
hash = "x"  # of spring
old_hash = "y"

  [[ keys ]]
# Ben's
name = "b"
hash = "z"
"""


def test_values_are_replaced_added_and_taken_out_where_they_stand() -> None:
    changed = with_values(TEXT, 0, {"hash": '"n"', "old_hash": None, "expires": "2027-01-01"})
    assert changed == TEXT.replace(
        'hash = "x"  # of spring\nold_hash = "y"\n',
        'hash = "n"  # of spring\nexpires = 2027-01-01\n',
    )
    assert with_values(TEXT, 1, {"expires": "2027-01-01"}) == TEXT + "expires = 2027-01-01\n"
    assert with_values(TEXT.rstrip(), 1, {"e": "1"}) == TEXT + "e = 1\n"
    assert with_values(TEXT, 5, {"e": None}) == TEXT


def test_a_table_goes_with_its_comments() -> None:
    assert without_table(TEXT, 1) == TEXT[: TEXT.index("  [[ keys")]
    assert without_table(TEXT, 2) == TEXT


tables = st.lists(
    st.dictionaries(st.sampled_from(["name", "hash", "tenant", "role"]), st.integers(0, 9)),
    min_size=1,
    max_size=5,
)


@given(tables, st.data())
def test_any_table_alone_changes(entries: list[dict[str, int]], data: st.DataObject) -> None:
    breaks = st.sampled_from(["\n", "\n\n", "\n# [[keys]] said\n"])
    text = "".join(
        "[[keys]]\n" + "".join(f"{k} = {v}{data.draw(breaks)}" for k, v in entry.items())
        for entry in entries
    )
    index = data.draw(st.integers(0, len(entries) - 1))
    changes = data.draw(
        st.dictionaries(st.sampled_from(["hash", "old", "role"]), st.none() | st.integers(10, 20))
    )
    written = {k: None if v is None else str(v) for k, v in changes.items()}
    after = tomllib.loads(with_values(text, index, written))["keys"]
    both = entries[index] | changes
    expected = {k: v for k, v in both.items() if v is not None}
    assert after == [*entries[:index], expected, *entries[index + 1 :]]
    less = tomllib.loads(without_table(text, index)).get("keys", [])
    assert less == [*entries[:index], *entries[index + 1 :]]
