"""One entry for every path that the gateway knows, and none that it does not."""

from proa.guard.places import PATHS, PREFIXES, places_of
from proa.wire import surface


def test_every_known_path_has_an_entry_of_its_own() -> None:
    assert set(PATHS) == set(surface._EXACT)


def test_every_known_prefix_has_an_entry_in_the_same_order() -> None:
    assert [prefix for prefix, _ in PREFIXES] == [prefix for prefix, _ in surface._PREFIXES]


def test_of_an_unknown_path_every_string_is_a_text() -> None:
    entry = places_of(b"/generate")
    assert not entry.is_opaque
    assert not entry.media | entry.documents
    assert entry.kept == {("model",)}
