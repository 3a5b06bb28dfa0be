"""A comparison of quality in its file: answers with their texts, questions without theirs.

What is right is not kept: it is checked again.
"""

import sqlite3

import msgspec

from proa.bench.keep.read_about import started
from proa.bench.keep.row_file import RowFile, as_text
from proa.bench.quality.answers import QualityAnswer
from proa.bench.quality.checks import Check, is_right
from proa.bench.quality.run import QualityEnd, QualityResult, QualityStart
from proa.bench.sample import Failure

KIND = "quality"
_EVERY = 32
_COLUMNS = (
    "side, case_id, text, failure, failure_text, finish_reason, output_tokens, tokens, logprobs"
)


class QualityFile:
    """Keeps answers in `file`, whose closing is the caller's."""

    def __init__(self, file: RowFile) -> None:
        self._file = file
        self._answers = 0

    def started(self, start: QualityStart) -> None:
        """Targets are prepared and all questions are known."""
        self._file.start(KIND, start)

    def answer(self, answer: QualityAnswer) -> None:
        """An answer came."""
        self._answers += 1
        told = (
            self._answers, answer.side, answer.case, answer.text, answer.failure,
            answer.failure_text, answer.finish_reason, answer.output_tokens,
            as_text(answer.tokens), as_text(answer.logprobs),
        )  # fmt: skip
        self._file.add("answers", [told])
        if self._answers % _EVERY == 0:
            self._file.flush()


def read_quality(connection: sqlite3.Connection) -> QualityResult:
    """One that was cut off reads as interrupted."""
    start, end = started(connection, QualityStart, QualityEnd)
    checks = {case.id: case.check for case in start.cases}
    answers: dict[str, dict[str, QualityAnswer]] = {side: {} for side in start.sides}
    for row in connection.execute(f"SELECT {_COLUMNS} FROM answers ORDER BY seq"):
        answer = _answer(row, checks)
        answers[answer.side][answer.case] = answer
    return QualityResult(start, answers, end or QualityEnd(is_interrupted=True, took_s=0.0))


def _answer(row: tuple[object, ...], checks: dict[str, Check]) -> QualityAnswer:
    side, case, text, failure, why, finish, output_tokens, tokens, logprobs = row
    failed = None if failure is None else Failure(str(failure))
    return msgspec.convert(
        {
            "side": side, "case": case, "text": text, "failure": failed, "failure_text": why,
            "finish_reason": finish, "output_tokens": output_tokens,
            "right": is_right(checks[str(case)], str(text)) if failed is None else None,
            "tokens": msgspec.json.decode(str(tokens)),
            "logprobs": msgspec.json.decode(str(logprobs)),
        },
        QualityAnswer,
    )  # fmt: skip
