"""Names that users write, to the ids of rows: what is nearest to a name that no row has."""

from collections.abc import Mapping

_SHOWN = 4


def tail(row_id: str) -> str:
    """What stands after the slash, in lower case."""
    return row_id.rpartition("/")[2].casefold()


def nearest(wanted: str, known: Mapping[str, str]) -> str:
    """The rows whose names look most like `wanted`, for an error message; some if none does.

    `known` are names in lower case, to the ids that are shown.
    """
    import difflib  # here: only a wrong name needs it

    close = difflib.get_close_matches(wanted, known, n=2 * _SHOWN, cutoff=0.4)
    starting = [key for key in known if wanted and (wanted in key or key in wanted)]
    ids = dict.fromkeys(known[key] for key in [*close, *starting])
    return ", ".join([*(ids or dict.fromkeys(known.values()))][:_SHOWN])
