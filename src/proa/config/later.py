"""Keys that the design of proa knows and this version does not do yet.

They are refused like unknown keys, with a message of their own: a `[guard]` that was
read and ignored would let pass what it is there to stop. Numbers in paths are left out.
"""

RENAMED_KEYS = {"keys.admin": 'write role = "admin" in its place'}
"""What a key of an earlier version is now."""

LATER_KEYS = frozenset(
    {
        "scaling",
    }
)
