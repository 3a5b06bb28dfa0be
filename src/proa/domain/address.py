"""An engine's address as people shorten it."""


def with_scheme(address: str, scheme: str = "http") -> str:
    """`HOST:PORT` with its scheme in front; whatever is no such short form comes back as it is.

    A bare word is not made an address of: it may be a name that somebody mistyped.
    """
    has_port = ":" in address.partition("/")[0].rpartition("]")[2]
    has_scheme = "://" in address or address.startswith("unix:")
    return f"{scheme}://{address}" if has_port and not has_scheme else address
