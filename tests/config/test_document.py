"""Lines of keys in a TOML file."""

from pathlib import Path

import pytest

from proa.config.document import KeyPath, dotted, parse_document, read_document
from proa.errors import ConfigError

TEXT = """\
top = 1
[gateway]   # a table
listen = "x"

[[engines]]
name = "a"
[[engines]]
  "url" = "b"
[[routes]]
[routes.match]
path = "/x"
headers = { a = "b" }
[[routes]]
match.path = "/y"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 1),
        (("gateway",), 2),
        (("gateway", "listen"), 3),
        (("engines", 0, "name"), 6),
        (("engines", 1), 7),
        (("engines", 1, "url"), 8),
        (("engines", 1, "missing"), 7),
        (("routes", 0, "match", "path"), 11),
        (("routes", 0, "match", "headers", "a"), 12),
        (("routes", 1, "match", "path"), 14),
        (("nowhere", "at", "all"), None),
    ],
)
def test_a_key_or_the_nearest_around_it_has_a_line(path: KeyPath, line: int | None) -> None:
    assert parse_document("f", TEXT).line(path) == line


def test_key_paths_are_written_as_in_the_file() -> None:
    assert dotted(("engines", 1, "url")) == "engines[1].url"
    assert dotted(("a", "b\n\x1b")) == r"a.'b\n\x1b'"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\): a readable file"):
        read_document(tmp_path)
