"""What the guard does with one body, the same in a worker and in its helper process."""

from collections.abc import Mapping

import msgspec

from proa.guard.answer_editor import AnswerEditor
from proa.guard.base import TextScanner
from proa.guard.limits import BrokenLimit, broken_limit
from proa.guard.policy import GuardRule
from proa.guard.tokens import TokenBook
from proa.guard.walk import Searched, search


class Acted(msgspec.Struct, frozen=True, kw_only=True):
    """What may go to the engine, if nothing speaks against it; `tokens` restore its answer.

    `counts` has the findings that the rule does not pass over.
    """

    body: bytes
    counts: dict[str, int]
    tokens: TokenBook
    is_media_blocked: bool = False
    broken: BrokenLimit | None = None

    def __repr__(self) -> str:  # never the body
        return f"Acted({self.counts})"


class GuardedBody(msgspec.Struct, frozen=True, kw_only=True):
    """A request's body as it came."""

    path: bytes
    content_type: bytes
    body: bytes

    def __repr__(self) -> str:  # never the body
        return f"GuardedBody({len(self.body)} bytes)"


def acted(
    asked: GuardedBody, rule: GuardRule, scanner: TextScanner, searched: Searched | None = None
) -> Acted:
    """Do with a body what the rule says; it is searched here if it was not before.

    Raises:
        UnreadableBody: the body cannot be searched and may not pass.
    """
    broken = broken_limit(asked.path, asked.body, rule, asked.content_type)
    if searched is None:
        searched = search(asked.path, asked.body, scanner, asked.content_type)
    tokens = TokenBook(rule.language, rule.labels)
    done = searched.acted(rule, tokens)
    return Acted(
        body=done.body,
        counts=done.findings_count,
        tokens=tokens,
        is_media_blocked=done.is_media_blocked,
        broken=broken,
    )


def editor_of(rule: GuardRule, originals: Mapping[str, str], scanner: TextScanner) -> AnswerEditor:
    """The editor of an answer whose request was worked on elsewhere."""
    tokens = TokenBook(rule.language, rule.labels)
    tokens.know(originals)
    return AnswerEditor(scanner, rule, tokens)
