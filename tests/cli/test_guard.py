"""`proa guard scan|mask` on standard input, as other programs use it; made-up people only."""

import io
import json
from pathlib import Path

import pytest

from proa.cli.main import main

TEXT = "고객 900101-1234567는 010-1234-5678로\r\n메일 kim@example.com입니다."


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> "Ask":
    return Ask(monkeypatch, capfdbinary)


class Ask:
    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[bytes]
    ) -> None:
        self._monkeypatch = monkeypatch
        self._captured = captured

    def __call__(self, given: str | bytes, *args: str, code: int = 0) -> str:
        read = given.encode() if isinstance(given, str) else given
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(read)))
        assert main(["guard", *args]) == code
        out, err = self._captured.readouterr()
        return (out if code == 0 else err).decode()


def test_scan_writes_a_line_for_each_finding(ask: Ask) -> None:
    told = [json.loads(line) for line in ask(TEXT, "scan").splitlines()]
    assert [set(each) for each in told] == [{"type", "start", "end", "confidence"}] * 3
    assert [(each["type"], TEXT[each["start"] : each["end"]]) for each in told] == [
        ("resident_number", "900101-1234567"),
        ("mobile_phone", "010-1234-5678"),
        ("email", "kim@example.com"),
    ]


def test_scan_in_words_says_where_and_never_what(ask: Ask) -> None:
    told = ask(TEXT, "scan", "--format", "text", "--lang", "ko")
    assert told.splitlines()[2].startswith("2행 4열: 이메일 (email), ")
    assert "kim" not in told
    assert "line 2, column 4: EMAIL" in ask(TEXT, "scan", "--format", "text", "--lang", "en")


def test_mask_leaves_every_other_byte(ask: Ask) -> None:
    masked = ask(TEXT, "mask")
    assert masked == "고객 ******-*******는 010-****-****로\r\n메일 ***@example.com입니다."
    plain = "\ufeff표\t1\r\n\n가격 1,234원\x00"
    assert ask(plain, "mask") == plain


def test_mask_with_tokens_masks_resident_numbers_all_the_same(ask: Ask) -> None:
    masked = ask(TEXT, "mask", "--mode", "token", "--lang", "ko")
    assert masked == "고객 ******-*******는 [전화_1]로\r\n메일 [이메일_1]입니다."
    assert "[PHONE_1]" in ask(TEXT, "mask", "--mode", "token", "--lang", "en")


def test_lines_keep_their_ids(ask: Ask) -> None:
    lines = "".join(json.dumps({"id": n, "text": TEXT}) + "\n" for n in (7, "a"))
    told = [json.loads(line) for line in ask(lines, "scan", "--jsonl").splitlines()]
    assert [each["id"] for each in told] == [7, 7, 7, "a", "a", "a"]
    masked = [json.loads(line) for line in ask(lines, "mask", "--jsonl").splitlines()]
    assert [set(each) for each in masked] == [{"id", "text"}] * 2
    assert "010-1234" not in masked[1]["text"]


def test_only_the_types_asked_for(ask: Ask) -> None:
    told = ask(TEXT, "scan", "--types", "email, card")
    assert [json.loads(line)["type"] for line in told.splitlines()] == ["email"]
    corporate = "법인등록번호 110111-1234569"
    assert ask(corporate, "mask") == corporate  # public; unless it is asked for
    assert "1234569" not in ask(corporate, "mask", "--types", "corporate_number")
    assert "one of address" in ask(TEXT, "scan", "--types", "mail", code=2)


@pytest.mark.parametrize(
    ("given", "args", "told"),
    [
        (b"a\xff", ("scan",), "standard input: is not UTF-8 at byte 1"),
        (b'{"text": "a"}\n{"text": ', ("mask", "--jsonl"), "standard input:2: is not JSON"),
        (
            b'{"id": 1}\n',
            ("scan", "--jsonl"),
            'standard input:1: accepted is a JSON object with "text"',
        ),
        (b"[1]\n", ("scan", "--jsonl"), "standard input:1: accepted is"),
        (
            b'{"text": "\\ud800"}\n',
            ("mask", "--jsonl"),
            "standard input:1: has half a surrogate pair",
        ),
        (b'{"text": "a\xff"}\n', ("mask", "--jsonl"), "standard input:1: is not UTF-8 at byte 11"),
    ],
)
def test_what_cannot_be_read_is_refused(
    ask: Ask, given: bytes, args: tuple[str, ...], told: str
) -> None:
    assert told in ask(given, *args, code=2)


def test_detectors_and_modes_of_a_configuration(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "proa.toml"
    file.write_text(
        '[[engines]]\nname = "main"\nurl = "http://127.0.0.1:8000"\n'
        '[guard]\nmode = "token"\n[guard.types]\nemail = "off"\n'
        '[[guard.detectors]]\nname = "employee_number"\npattern = "E-[0-9]{6}"\nlabel = "사번"\n',
        encoding="utf-8",
    )
    masked = ask(f"{TEXT} E-123456", "mask", "--config", str(file))
    assert masked.endswith("kim@example.com입니다. [사번_1]")
    assert "[전화_1]" in masked


def test_a_long_text_in_slices_is_the_same(ask: Ask) -> None:
    text = f"{TEXT}\n" * 4000  # three slices
    assert ask(text, "mask") == ask(f"{TEXT}\n", "mask") * 4000
    told = [json.loads(line) for line in ask(text, "scan").splitlines()]
    assert len(told) == 3 * 4000
    assert text[told[-1]["start"] : told[-1]["end"]] == "kim@example.com"
