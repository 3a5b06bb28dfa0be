"""Lines of keys in a TOML file."""

from pathlib import Path

import pytest

from proa.config.document import KeyPath, dotted, parse_document, read_document
from proa.config.faults import ConfigFaults, Fault
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


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb c\n", 2), ("a = 1\n\nb = [\n1,\n", 4), ("x = 1" + "0" * 5000, None)],
)
def test_a_syntax_error_has_its_line(text: str, line: int | None) -> None:
    with pytest.raises(ConfigFaults) as refused:
        parse_document("p.toml", text)
    assert refused.value.faults[0].line == line
    where = "p.toml" if line is None else f"p.toml:{line}"
    assert str(refused.value).startswith(f"{where}: is not TOML: ")
    assert "line" not in str(refused.value).removeprefix(where)


def test_faults_are_told_in_the_order_of_their_lines() -> None:
    def fault(file: str, line: int | None) -> Fault:
        return Fault(file=file, key=f"{line}", accepted="", line=line)

    faults = [fault("a", 9), fault("b", 1), fault("a", None), fault("a", 2)]
    told = [(fault.file, fault.line) for fault in ConfigFaults(faults).faults]
    assert told == [("a", None), ("a", 2), ("a", 9), ("b", 1)]
