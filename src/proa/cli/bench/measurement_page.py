"""A kept comparison, combination or comparison of quality → the page of its report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from proa.bench.keep import combine_file, compare_file, import_file, quality_file
from proa.bench.keep.documents import document_of
from proa.bench.keep.kept import Kept
from proa.cli.bench import combine_view, compare_view, import_results, quality_view
from proa.cli.bench.report_sections import raw
from proa.cli.page.blocks import Grid, Page, Section
from proa.cli.texts import Texts

_PAGES: Mapping[str, tuple[str, Callable[[Any, Texts], Page]]] = {
    compare_file.KIND: ("bench_compare", compare_view.page_of),
    combine_file.KIND: ("bench_combine", combine_view.page_of),
    quality_file.KIND: ("bench_quality", quality_view.page_of),
    import_file.KIND: ("bench_import", import_results.page_of),
}
VERDICTS: Mapping[str, str] = {
    "refused": "fail", "failing": "fail", "buffers": "fail", "different": "fail",
    "missed": "fail", "worse": "fail", "undecided": "open", "equivalent": "pass", "kept": "pass",
}  # fmt: skip
"""The status of a page by the verdict of its document; what is not here was only measured."""


def _conditions(kept: Kept, texts: Texts) -> Iterator[Section]:
    """Who was measured, when and by which version; other tools' files tell none of it."""
    found = document_of(kept.result).get("conditions")
    if found is None:
        return
    started = datetime.fromtimestamp(found["started_unix_s"], UTC)
    rows = [(texts.say("condition_started"), f"{started:%Y-%m-%d %H:%M:%S} UTC")]
    for target in found["targets"]:
        told = f"{target['name']}: {target['url']}, {target['model']}"
        rows.append((texts.say("condition_target"), told))
    if "seed" in found:
        rows.append((texts.say("condition_seed"), str(found["seed"])))
    rows.append((texts.say("condition_client"), f"proa {found['proa']}"))
    yield Section(texts.say("section_conditions"), (Grid(("", ""), tuple(rows)),))


def measurement_page(files: Sequence[Kept], texts: Texts) -> Page:
    """Of files of one kind; with several, the first one's verdict stands above."""
    verb, page_of = _PAGES[files[0].kind]
    pages = [page_of(each.result, Texts(verb, texts.language)) for each in files]
    sections: list[Section] = []
    for each, page in zip(files, pages, strict=True):
        name = texts.say("run_of", file=each.path.name) if len(files) > 1 else ""
        own = [*page.sections, *_conditions(each, texts)]
        own.append(Section(texts.say("section_raw"), tuple(raw(each, texts))))
        sections += [
            msgspec.structs.replace(section, title=name + section.title) for section in own
        ]
    return msgspec.structs.replace(pages[0], sections=tuple(sections))
