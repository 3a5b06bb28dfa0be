"""Personal data in a request's body: found in every text of it, and replaced where it stands.

`search` finds, without knowing what is to be done; `Searched.acted` does what a rule says, so
that the route may be chosen in between. Nothing but the findings' own places is rewritten.

Not searched: paths and queries of URLs, and the escapes of JSON in a string of JSON in a string.
"""

from collections import Counter
from collections.abc import Generator

import msgspec

from proa.guard.base import TextScanner
from proa.guard.finding import Finding
from proa.guard.hit import Hit
from proa.guard.mask import mask
from proa.guard.policy import GuardRule
from proa.guard.texts import BodyTexts
from proa.guard.tokens import TokenBook, token_texts

SLICE_CHARS = 65_536


class Filtered(msgspec.Struct, frozen=True, kw_only=True):
    """What may go to the engine.

    `body` is the very object that was searched where nothing had to be rewritten.
    `findings_count` has the types that are not off. `blocked`: the first type whose mode is
    block, then `body` may not be sent; so may it not where `is_media_blocked`.
    """

    body: bytes
    findings_count: dict[str, int]
    blocked: str | None = None
    is_media_blocked: bool = False

    def __repr__(self) -> str:  # never the body
        return f"Filtered({self.findings_count}, blocked={self.blocked})"


class Searched:
    """What was found in a body; nothing is changed yet."""

    __slots__ = ("_body", "_hits", "_texts", "_typed_tokens")

    def __init__(
        self, body: bytes, texts: BodyTexts, hits: list[Hit], typed_tokens: set[str]
    ) -> None:
        self._body = body
        self._texts = texts
        self._hits = hits
        self._typed_tokens = typed_tokens

    @property
    def counts(self) -> dict[str, int]:
        """Findings by type, whatever their mode will be."""
        return dict(Counter(hit.type for hit in self._hits))

    @property
    def has_media(self) -> bool:
        return self._texts.has_media

    def acted(self, rule: GuardRule, tokens: TokenBook) -> Filtered:
        """The body as the rule wants it."""
        counts = {type_: n for type_, n in self.counts.items() if rule.mode_of(type_) != "off"}
        blocked = next((type_ for type_ in counts if rule.mode_of(type_) == "block"), None)
        is_media_blocked = rule.media == "block" and self.has_media
        body = self._body if blocked else self._rewritten(rule, tokens)
        return Filtered(
            body=body,
            findings_count=counts,
            blocked=blocked,
            is_media_blocked=is_media_blocked,
        )

    def _rewritten(self, rule: GuardRule, tokens: TokenBook) -> bytes:
        tokens.reserve(self._typed_tokens)
        text, codec = self._texts.text, self._texts.codec
        pieces: list[str] = []
        at = 0
        for hit in self._hits:
            mode = rule.mode_of(hit.type)
            if mode not in ("mask", "token"):
                continue
            token = mode == "token"
            new = tokens.token(hit.type, hit.text) if token else mask(hit.type, hit.text)
            written = hit.written(new)
            pieces += text[at : hit.start], written.encode().decode(codec)
            at = hit.end
        return "".join((*pieces, text[at:])).encode(codec) if pieces else self._body


def searching(
    path: bytes, body: bytes, scanner: TextScanner, content_type: bytes = b""
) -> Generator[None, None, Searched]:
    """`search` in slices of some 64 Ki characters, so that a loop can do other work in between.

    Raises:
        UnreadableBody: the body cannot be searched and may not pass.
    """
    texts = BodyTexts(path, body, content_type)
    hits: list[Hit] = []
    typed: set[str] = set()
    chars = 0
    for each in texts:
        typed.update(token_texts(each.text))
        findings: list[Finding] = []
        if len(each.text) <= SLICE_CHARS:
            findings = scanner.scan(each.text)
            chars += len(each.text)
            if chars > SLICE_CHARS:
                yield
                chars = 0
        else:
            for found in scanner.scan_slices(each.text, SLICE_CHARS):
                if found is None:
                    yield
                else:
                    findings += found
        hits += each.hits(findings)
    return Searched(body, texts, hits, typed)


def search(path: bytes, body: bytes, scanner: TextScanner, content_type: bytes = b"") -> Searched:
    """Everything that is found in a body, at once.

    Raises:
        UnreadableBody: the body cannot be searched and may not pass.
    """
    work = searching(path, body, scanner, content_type)
    while True:
        try:
            next(work)
        except StopIteration as ended:
            searched: Searched = ended.value
            return searched


def filtered(
    path: bytes,
    body: bytes,
    scanner: TextScanner,
    rule: GuardRule,
    tokens: TokenBook,
    content_type: bytes = b"",
) -> Filtered:
    """What may go to the engine of a body, where the rule is known from the beginning.

    Raises:
        UnreadableBody: the body cannot be searched and may not pass.
    """
    return search(path, body, scanner, content_type).acted(rule, tokens)
