"""The generated text: short words in an order that the seed and the prompt decide."""

from zlib import crc32

WORDS = tuple(
    b" " + word
    for word in (
        b"air bay bow buy cab cup day dew ear elm eve fin fig fog gem gum hay hem ice ink ivy jar "
        b"jet key kit lap lid log map mud nap net oak oar oat owl pan pea pen pie ram red rim rye "
        b"sea sky sun tea tin top tug urn van vat vow wax web wig yew zip zoo"
    ).split()
)
WORD_BYTES = 4
_COUNT = len(WORDS)


class Words:
    """The words of one answer: a walk through `WORDS` with a step that visits all."""

    __slots__ = ("_start", "_stride")

    def __init__(self, prompt: bytes, seed: int) -> None:
        mixed = crc32(prompt, seed & 0xFFFFFFFF)
        self._start = mixed % _COUNT
        self._stride = 1 + (mixed >> 8) % (_COUNT - 1)

    def word(self, number: int) -> bytes:
        """The word of token `number`, the first being 1; it needs no escape in JSON."""
        return WORDS[(self._start + self._stride * number) % _COUNT]

    def text(self, count: int) -> str:
        """The first `count` words."""
        return b"".join(map(self.word, range(1, count + 1))).decode()
