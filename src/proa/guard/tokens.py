"""Reversible marks of one request: `[전화_1]` in the place of a text, and back in the answer."""

import re
from collections.abc import Callable, Iterable, Mapping

from proa.guard.mask import label
from proa.guard.policy import Language

TOKEN_MAX_CHARS = 64
_LIKE_A_TOKEN = re.compile(r"\[[^\[\]\n]{1,52}_[0-9]{1,9}\]")


def token_texts(text: str) -> list[str]:
    """What in a text looks like a token, whoever wrote it."""
    return _LIKE_A_TOKEN.findall(text) if "[" in text else []


class TokenBook:
    """The tokens of one request: the same text has the same token wherever it stands.

    What the user typed himself, though it looks like a token, is never given out and so
    never restored: `reserve` it before the first `token`.
    """

    __slots__ = (
        "_counts",
        "_labels",
        "_language",
        "_originals",
        "_reserved",
        "_tokens",
        "prefixes",
    )

    def __init__(self, language: Language = "ko", labels: Mapping[str, str] | None = None) -> None:
        """`labels`: of the user's own types."""
        self._language = language
        self._labels = labels or {}
        self._counts: dict[str, int] = {}
        self._reserved: set[str] = set()
        self._tokens: dict[tuple[str, str], str] = {}
        self._originals: dict[str, str] = {}
        self.prefixes: frozenset[str] = frozenset()

    def __repr__(self) -> str:  # never what the tokens stand for
        return f"TokenBook({len(self._originals)} tokens)"

    def __len__(self) -> int:
        return len(self._originals)

    def reserve(self, texts: Iterable[str]) -> None:
        """Texts that mean themselves."""
        self._reserved.update(texts)

    def token(self, type_: str, text: str) -> str:
        """The token that stands for a text of this type."""
        found = self._tokens.get((type_, text))
        if found is None:
            found = self._tokens[type_, text] = self._new(type_)
            self._originals[found] = text
            self.prefixes |= {found[:count] for count in range(1, len(found))}
        return found

    def _new(self, type_: str) -> str:
        name = self._labels.get(type_) or label(type_, self._language)
        while True:
            count = self._counts[name] = self._counts.get(name, 0) + 1
            token = f"[{name}_{count}]"
            if token not in self._reserved:
                return token

    @property
    def originals(self) -> dict[str, str]:
        """What all tokens stand for: for a copy of the book in another process."""
        return dict(self._originals)

    def know(self, originals: Mapping[str, str]) -> None:
        """Restore these tokens, which another copy of the book has given out."""
        self._originals.update(originals)
        self.prefixes |= {token[:n] for token in originals for n in range(1, len(token))}

    def original(self, token: str) -> str | None:
        """What a token stands for, None if it is none of this book."""
        return self._originals.get(token)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The places of this book's tokens in a text."""
        if not self._originals or "[" not in text:
            return []
        found = _LIKE_A_TOKEN.finditer(text)
        return [each.span() for each in found if each[0] in self._originals]

    def restore(self, text: str, written: Callable[[str], str] = str) -> str:
        """The text with what its tokens stand for; `written` escapes that for its place."""
        if not self._originals or "[" not in text:
            return text
        return _LIKE_A_TOKEN.sub(lambda found: self._restored(found[0], written), text)

    def _restored(self, token: str, written: Callable[[str], str]) -> str:
        original = self._originals.get(token)
        return token if original is None else written(original)

    def may_begin(self, text: str) -> int:
        """Where a token begins that the end of `text` leaves open; `len(text)` for none."""
        at = text.rfind("[", max(0, len(text) - TOKEN_MAX_CHARS + 1))
        return at if at >= 0 and text[at:] in self.prefixes else len(text)
