"""One finding at its place in a body, and how its replacement is written there."""

import msgspec

from proa.guard.json_text import encoded


class Hit(msgspec.Struct, frozen=True, gc=False):
    """`text` is what was found, written in the body from character `start` to `end`.

    `escapes`: in how many JSON strings it stands, one within the other. `is_number`: it is a
    bare number of a JSON document, so its replacement becomes a string of its own.
    """

    type: str
    start: int
    end: int
    text: str
    escapes: int = 0
    is_number: bool = False

    def __repr__(self) -> str:  # never the text: it could get into a log
        return f"Hit({self.type}, {self.start}, {self.end})"

    def written(self, replacement: str) -> str:
        """The replacement as it is written in the body."""
        if self.is_number:
            replacement = f'"{encoded(replacement)}"'
        for _ in range(self.escapes):
            replacement = encoded(replacement)
        return replacement
