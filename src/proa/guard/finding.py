"""One thing that was found in a text."""

import msgspec


class Finding(msgspec.Struct, frozen=True, gc=False):
    """`type` is one of `types.TYPES` or a user's detector; offsets are characters of the text.

    `confidence` is between 0 and 1: how sure it is that this is what `type` says.
    """

    type: str
    start: int
    end: int
    confidence: float
