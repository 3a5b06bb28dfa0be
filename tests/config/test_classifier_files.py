"""Files of the classifier: each fault names file, line and value."""

from pathlib import Path

import pytest

from proa.config.classifier_files import read_classifier, read_examples
from proa.config.faults import ConfigFaults


def test_lines_become_examples(tmp_path: Path) -> None:
    file = tmp_path / "e.jsonl"
    file.write_text('{"text":"가","class":"faq"}\n\n{"text":"b","class":"r","group":"g","x":1}\n')
    assert [(e.text, e.label, e.group) for e in read_examples(file)] == [
        ("가", "faq", ""), ("b", "r", "g"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", ":2: is not JSON"),
        ("[1]", ":2: is no object"),
        ('{"class":"a"}', ":2: text is missing"),
        ('{"text":" ","class":"a"}', ':2: text = " ": accepted is a string that is not empty'),
        ('{"text":"a","class":7}', ":2: class = 7: accepted is a name"),
        ('{"text":"a","class":"b","group":3}', ":2: group = 3: accepted is a string"),
    ],
)
def test_a_wrong_line_is_told_with_its_number_and_value(
    tmp_path: Path, line: str, told: str
) -> None:
    file = tmp_path / "e.jsonl"
    file.write_text('{"text":"a","class":"b"}\n' + line)
    with pytest.raises(ConfigFaults) as caught:
        read_examples(file)
    assert str(file) + told in str(caught.value)


def test_all_wrong_lines_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "e.jsonl"
    file.write_text("x\n{}\n")
    with pytest.raises(ConfigFaults) as caught:
        read_examples(file)
    assert [fault.line for fault in caught.value.faults] == [1, 2]


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_examples_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "e.jsonl"
    file.write_text(content)
    with pytest.raises(ConfigFaults, match="has no examples"):
        read_examples(file)


@pytest.mark.parametrize("content", ["{}", "no", '{"classes":["a","b"]}'])
def test_what_is_no_model_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "m.json"
    file.write_text(content)
    with pytest.raises(ConfigFaults, match="is no classifier"):
        read_classifier(file)
    with pytest.raises(ConfigFaults, match="cannot be read"):
        read_classifier(tmp_path / "none.json")
