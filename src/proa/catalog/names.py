"""Names that users write, to the ids of rows: what is nearest to a name that no row has."""

from collections.abc import Callable, Iterable

_SHOWN = 4


def tail(row_id: str) -> str:
    """What stands after the slash, in lower case."""
    return row_id.rpartition("/")[2].casefold()


def nearest(name: str, ids: Iterable[str], *, short: Callable[[str], str] = str.casefold) -> str:
    """The ids that look most like `name`, for an error message; some ids if none does."""
    import difflib  # here: only a wrong name needs it

    rows = list(ids)
    wanted = short(name)
    known = {short(row): row for row in reversed(rows)}
    close = difflib.get_close_matches(wanted, known, n=_SHOWN, cutoff=0.4)
    starting = [key for key in known if wanted and (wanted in key or key in wanted)]
    chosen = list(dict.fromkeys([*close, *starting]))[:_SHOWN] or list(known)[:_SHOWN]
    return ", ".join(known[key] for key in chosen)
