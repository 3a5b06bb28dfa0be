"""Which engines take part: the file first, then what was added, then what was discovered."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.control.changes import Changes, EngineChange, read_changes
from proa.control.roster import Leaving, Sources, difference, discovered_by, roster
from proa.domain.fleet import EngineSpec

NAMES = st.sampled_from(["a", "b", "c", "d"])


def engine(name: str, url: str = "http://h:1", weight: float = 1.0) -> EngineSpec:
    return EngineSpec(name=name, url=url, weight=weight)


def test_of_two_with_one_name_the_files_goes_first_and_it_is_said() -> None:
    sources = Sources(
        file=(engine("a", "http://file:1"),),
        added={"a": engine("a", "http://added:1"), "b": engine("b", "http://added:2")},
        found={"pool": (engine("b", "http://found:1"), engine("c", "http://found:2"))},
    )
    listed = roster(sources, Changes(), {})
    assert [e.url for e in listed.engines] == ["http://file:1", "http://added:2", "http://found:2"]
    assert listed.sources == {"a": "file", "b": "admin", "c": "discovery pool"}
    assert listed.groups == {"pool": ("c",)}
    assert listed.notes == (
        "engine 'a' of admin is not used: file has it too",
        "engine 'b' of discovery pool is not used: admin has it too",
    )


def test_changes_stay_with_the_name() -> None:
    changes = Changes().change("a", {"weight": 3.0, "max_concurrent_requests": 0})
    changes = changes.change("a", {"draining": True})
    listed = roster(Sources(file=(engine("a"), engine("b"))), changes, {})
    assert (listed.engines[0].weight, listed.engines[1].weight) == (3.0, 1.0)
    assert listed.draining == {"a"}
    assert changes.changed["a"].keys == ["weight", "max_concurrent_requests", "draining"]
    back = changes.change("a", {"weight": None, "max_concurrent_requests": None})
    assert back.change("a", {"draining": False}) == Changes()


def test_a_removed_engine_stays_away_until_it_is_brought_back() -> None:
    sources = Sources(file=(engine("a"), engine("b")))
    changes = Changes().change("a", {"weight": 2.0}).remove("a", remember=True)
    assert [e.name for e in roster(sources, changes, {}).engines] == ["b"]
    assert [e.name for e in roster(sources, changes.bring_back("a"), {}).engines] == ["a", "b"]
    assert changes.changed == {}


def test_a_leaving_engine_takes_part_and_drains() -> None:
    sources = Sources(file=(engine("a"), engine("b")))
    leaving = {"a": Leaving(engine("a"), "file")}
    listed = roster(sources, Changes().remove("a", remember=True), leaving)
    assert sorted(e.name for e in listed.engines) == ["a", "b"]
    assert listed.draining == {"a"}


def test_changes_without_an_engine_are_forgotten() -> None:
    changes = (
        Changes()
        .add("x", {"name": "x"})
        .add("y", {"name": "y"})
        .remove("a", remember=True)
        .remove("gone", remember=True)
        .change("gone", {"weight": 2.0})
        .change("x", {"weight": 2.0})
    )
    kept = changes.forget({"a", "y"}, in_file={"a", "y"})
    assert kept == Changes(
        added={"x": {"name": "x"}}, removed=("a",), changed={"x": EngineChange(weight=2.0)}
    )


@pytest.mark.parametrize("value", [[], {"added": []}, {"changed": {"a": {"weight": "x"}}}])
def test_another_form_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match="Expected"):
        read_changes(value)


def test_changes_survive_the_state_file() -> None:
    changes = Changes().add("x", {"name": "x", "url": "u"}).change("x", {"draining": True})
    assert read_changes(msgspec.to_builtins(changes.remove("b", remember=True))) == changes.remove(
        "b", remember=True
    )


SPECS = st.lists(
    st.builds(engine, NAMES, st.sampled_from(["http://h:1", "http://h:2"])),
    unique_by=lambda spec: spec.name,
)


@given(before=SPECS, after=SPECS)
def test_a_difference_leads_from_one_set_to_the_other(
    before: list[EngineSpec], after: list[EngineSpec]
) -> None:
    change = difference(before, after)
    result = {spec.name: spec for spec in before}
    for spec in change.went:
        del result[spec.name]
    assert result.keys().isdisjoint(spec.name for spec in change.came)
    for spec in (*change.came, *change.other):
        result[spec.name] = spec
    assert result == {spec.name: spec for spec in after}
    assert bool(change) == (sorted(map(repr, before)) != sorted(map(repr, after)))


@given(file=SPECS, added=SPECS, found=SPECS, removed=st.sets(NAMES), leaving=SPECS)
def test_each_name_once_and_none_that_was_removed_but_those_that_leave(
    file: list[EngineSpec],
    added: list[EngineSpec],
    found: list[EngineSpec],
    removed: set[str],
    leaving: list[EngineSpec],
) -> None:
    sources = Sources(
        file=tuple(file), added={s.name: s for s in added}, found={"pool": tuple(found)}
    )
    left = {spec.name: Leaving(spec, discovered_by("pool")) for spec in leaving}
    listed = roster(sources, Changes(removed=tuple(removed)), left)
    names = [spec.name for spec in listed.engines]
    assert len(names) == len(set(names)) == len(listed.sources)
    everyone = {spec.name for spec in (*file, *added, *found)}
    assert set(names) == (everyone - removed) | left.keys()
    assert listed.draining == left.keys()
