"""A change of a file is seen once, and only when it has settled."""

from pathlib import Path

from proa.cli.serve.watch import FileWatch


def test_a_change_counts_when_two_looks_agree(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    watch = FileWatch([path])
    assert not watch.changed()
    path.write_text("22")
    assert not watch.changed()
    path.write_text("333")
    assert not watch.changed()
    assert watch.changed()
    watch.read_again([path])
    assert not watch.changed()


def test_a_file_that_is_replaced_removed_or_appears_has_changed(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("1")
    watch = FileWatch([path, other])
    for change in (
        lambda: path.with_suffix(".new").write_text("1") and path.with_suffix(".new").rename(path),
        path.unlink,
        lambda: other.write_text("x"),
    ):
        change()
        assert [watch.changed(), watch.changed()] == [False, True]
        watch.read_again([path, other])


def test_other_files_are_watched_from_then_on(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    watch = FileWatch([path])
    watch.read_again([other])
    other.write_text("x")
    assert [watch.changed(), watch.changed()] == [False, True]
