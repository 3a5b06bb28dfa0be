"""What a good proa.toml says and hardly means: told by `proa check-config`, never refused."""

from collections.abc import Iterator
from difflib import get_close_matches

from proa.catalog.gpus import gpu_rows, known_gpu
from proa.config.checks import tables
from proa.config.document import Document
from proa.config.faults import Fault, shown_value


def remarks(document: Document) -> list[Fault]:
    """The remarks on a document without faults, in the order of its lines.

    `accepted` of a remark is what follows from it.
    """
    found = [
        *_never_reached(document),
        *_same_url(document),
        *_unknown_gpu(document),
    ]
    return sorted(found, key=lambda remark: remark.line or 0)


def _never_reached(document: Document) -> Iterator[Fault]:
    all_taken: int | None = None
    for index, route in tables(document.data, "routes"):
        if all_taken is not None:
            told = f"routes[{all_taken}] takes all requests"
            yield document.fault(("routes", index), told, problem="is never reached")
        elif not route.get("match"):
            all_taken = index


def _same_url(document: Document) -> Iterator[Fault]:
    seen: dict[str, int] = {}
    for index, engine in tables(document.data, "engines"):
        url = engine["url"].rstrip("/")
        if (first := seen.setdefault(url, index)) != index:
            told = f"engines[{first}] has the same: it counts as two"
            yield document.fault(("engines", index, "url"), told, shown=shown_value(url))


def _unknown_gpu(document: Document) -> Iterator[Fault]:
    for index, engine in tables(document.data, "engines"):
        gpu = engine.get("gpu")
        if gpu and known_gpu(gpu) is None:
            near = get_close_matches(gpu, gpu_rows()) or sorted(gpu_rows())
            told = f"no speed is known of it before it serves; known are {', '.join(near)}"
            yield document.fault(("engines", index, "gpu"), told, shown=shown_value(gpu))
