"""Slots: a name keeps its own, and none changes hands while somebody could still count there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.errors import InputError
from proa.gateway.slots import Slots


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_name_that_comes_back_finds_its_own() -> None:
    slots = Slots("engines", 3, clock=Clock())
    first = slots.assign(["a", "b"])
    assert slots.assign(["b"]) == {"b": first["b"]}
    assert slots.assign(["b", "c", "a"]) == first | {"c": 2}
    assert slots.names == {"a": 0, "b": 1, "c": 2}


def test_the_one_left_longest_ago_goes_first_and_is_cleared() -> None:
    clock, cleared = Clock(), list[int]()
    slots = Slots("engines", 2, clock=clock, clear=cleared.append)
    slots.assign(["a", "b"])
    slots.assign(["b"], reuse_after_s=60)
    clock.now_s += 10
    slots.assign([], reuse_after_s=60)
    clock.now_s += 60
    assert slots.assign(["c"], reuse_after_s=60) == {"c": 0}
    assert cleared == [0]
    assert slots.names == {"b": 1, "c": 0}


def test_no_slot_changes_hands_too_early_or_while_it_is_in_use() -> None:
    clock, busy = Clock(), {0}
    slots = Slots("engines", 1, clock=clock, is_idle=lambda slot: slot not in busy)
    slots.assign(["a"])
    slots.assign([], reuse_after_s=60)
    clock.now_s += 59
    with pytest.raises(InputError, match=r"no room for more engines: 1 with .* 60 s"):
        slots.assign(["b"], reuse_after_s=60)
    clock.now_s += 1
    with pytest.raises(InputError):
        slots.assign(["b"], reuse_after_s=60)
    assert slots.names == {"a": 0}
    busy.clear()
    assert slots.assign(["b"], reuse_after_s=60) == {"b": 0}


def test_more_at_one_time_than_there_is_room_for_is_refused() -> None:
    slots = Slots("engines", 2, clock=Clock())
    with pytest.raises(InputError, match="3 engines are more than the 2"):
        slots.assign(["a", "b", "c"])
    assert slots.names == {}


def test_without_reuse_a_restart_is_asked_for() -> None:
    slots = Slots("API keys", 1, clock=Clock())
    slots.assign(["a"])
    with pytest.raises(InputError, match="more than 1 different API keys since the start"):
        slots.assign(["b"])


@given(
    steps=st.lists(
        st.tuples(st.sets(st.sampled_from("abcdefgh"), max_size=5), st.integers(0, 40)),
        max_size=30,
    )
)
def test_never_two_names_in_one_slot_and_never_a_young_one_given_away(
    steps: list[tuple[set[str], int]],
) -> None:
    clock, last_used_s, owner = Clock(), dict[str, float](), dict[int, str]()
    slots = Slots("engines", 5, clock=clock)
    current: list[str] = []
    for names, wait_s in steps:
        for name in current:  # until now it was in use
            last_used_s[name] = clock.now_s
        try:
            given = slots.assign(sorted(names), reuse_after_s=60)
        except InputError:
            continue
        current = sorted(names)
        assert len(set(given.values())) == len(given)
        assert set(given.values()) <= set(range(5))
        for name, slot in given.items():
            before = owner.get(slot, name)
            if before != name:
                assert before not in names
                assert last_used_s[before] + 60 <= clock.now_s
            owner[slot] = name
        clock.now_s += wait_s
