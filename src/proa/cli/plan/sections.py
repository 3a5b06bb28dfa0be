"""What a page says of demand, context, model and levers."""

from collections.abc import Mapping, Sequence
from typing import Any

from proa.cli.page.blocks import Block, Bullets, Code, Grid, Prose, Section
from proa.cli.plan import figures as f
from proa.cli.plan.texts import PlanTexts
from proa.planner.memory.model_sketch import SKETCHED
from proa.planner.text import written

Document = Mapping[str, Any]
_SPARSE = 0.8
"""Models that use more of themselves for each token are called dense."""


def remarks(document: Document, texts: PlanTexts) -> list[Section]:
    """Warnings, the five questions, and what was assumed."""
    sections = []
    if document["warnings"]:
        told = Bullets(tuple(document["warnings"]), warns=True)
        sections.append(Section(texts.say("warnings"), (told,)))
    if document["questions"]:
        rows = tuple(
            (each["question"], each["answer"], texts.say(each["origin"]))
            for each in document["questions"]
        )
        grid = Grid(texts.heads("question", "answer", "origin"), rows)
        sections.append(Section(texts.say("questions"), (grid,)))
    if document["assumptions"]:
        told = Bullets(tuple(document["assumptions"]))
        sections.append(Section(texts.say("assumptions"), (told,)))
    return sections


def demand(document: Document, texts: PlanTexts) -> list[Section]:
    """Every step with its formula and the numbers put in."""
    told = document["demand"]
    if not told["steps"]:
        return []
    blocks: list[Block] = [steps(told["steps"], texts)]
    if told["solved"]:
        solved = told["solved"]
        text = texts.say(
            "solved",
            seconds=written(round(solved["seconds_per_request"], 2)),
            mean=written(round(solved["mean_sessions"], 2)),
            design=f.count(solved["design_sessions"]),
        )
        blocks.append(Prose(text))
    return [Section(texts.say("demand"), tuple(blocks))]


def steps(rows: Sequence[Document], texts: PlanTexts) -> Grid:
    """A reckoning as a table."""
    return Grid(
        texts.heads("step", "formula", "filled", "result"),
        tuple((step["name"], step["formula"], step["filled"], _result(step)) for step in rows),
        right=frozenset({3}),
    )


def context(document: Document, texts: PlanTexts, picture: Sequence[Block]) -> list[Section]:
    """The parts of a request, and how memory grows with its length."""
    told = document["context"]
    if not told["parts"] and document["demand"]["design_sessions"] is None:
        return []
    rows = [(part["name"], part["filled"], f.count(part["tokens"])) for part in told["parts"]]
    summed = f"{told['input_tokens']:,} + {told['output_tokens']:,}"
    whole = told["input_tokens"] + told["output_tokens"]
    rows.append((texts.say("context_total"), summed, f.count(whole)))
    if whole != told["context_tokens"]:
        rows.append((texts.say("longest"), "", f.count(told["context_tokens"])))
    head = texts.heads("part", "filled", "tokens")
    blocks: list[Block] = [Grid(head, tuple(rows), right=frozenset({2}))]
    if told["sweep"]:
        sessions = f.count(document["demand"]["design_sessions"])
        blocks += [Prose(texts.say("sweep", sessions=sessions)), _sweep(told, texts), *picture]
    return [Section(texts.say("context"), tuple(blocks))]


def model(document: Document, texts: PlanTexts) -> list[Section]:
    """What is known of the model."""
    told = document["model"]
    if told["id"] is None:
        return []
    rows = [
        (texts.say("model"), told["id"]),
        (texts.say("parameters"), f.parameters(told["parameters"])),
        (texts.say("active_parameters"), f.parameters(told["active_parameters"])),
        (texts.say("layers"), f.count(told["layers"])),
        (texts.say("weights"), f"{told['weights']}: {f.both_units(told['weights_bytes'])}"),
        (texts.say("kv_dtype"), told["kv_dtype"]),
        (texts.say("kv_per_token"), f.small_bytes(told["kv_bytes_per_token"])),
    ]
    if told["max_context"]:
        rows.append((texts.say("max_context"), f.count(told["max_context"])))
    if told["source"]:
        sketched = told["source"] == SKETCHED.en
        source = SKETCHED.say(texts.language) if sketched else told["source"]
        rows.append((texts.say("source"), source))
    if told["active_parameters"] > told["parameters"] * _SPARSE:
        rows.pop(2)
    return [Section(texts.say("model"), (Grid(texts.heads("fact", "value"), tuple(rows)),))]


def levers(document: Document, texts: PlanTexts) -> list[Section]:
    """The same need in every precision, what each costs, and how its quality is checked."""
    context_tokens = document["context"]["context_tokens"]
    rows = [row for row in document["levers"] if row["context_tokens"] == context_tokens]
    if not rows:
        return []
    told = texts.say(
        "levers_told", sessions=f.count(rows[0]["sessions"]), context=f"{context_tokens:,}"
    )
    blocks: list[Block] = [Prose(told), _lever_grid(document, rows, texts)]
    notes = [note for note in document["lever_notes"] if note["check"]]
    head = texts.heads("lever", "costs", "needs", "supported")
    blocks.append(Grid(head, tuple(_note(note, texts) for note in notes)))
    if notes:
        blocks += [Prose(texts.say("check_told")), Code(notes[0]["check"])]
    return [Section(texts.say("levers"), tuple(blocks))]


def _lever_grid(document: Document, rows: Sequence[Document], texts: PlanTexts) -> Grid:
    told = document["model"]
    chosen = [(row["weights"], row["kv"]) for row in rows]
    marked = (told["weights"], told["kv_dtype"])
    return Grid(
        texts.heads(
            "weights", "kv", "weights_bytes", "kv_all", "total_gb", "total_gib", "gpus_by_memory"
        ),
        tuple(
            (
                row["weights"],
                row["kv"],
                f.gb(row["weights_bytes"]),
                f.gb(row["kv_bytes"]),
                f.gb(row["total_bytes"]),
                f.gib(row["total_bytes"]),
                f.count(row["gpus"]),
            )
            for row in rows
        ),
        right=frozenset(range(2, 7)),
        marked=chosen.index(marked) if marked in chosen else None,
    )


def _sweep(told: Document, texts: PlanTexts) -> Grid:
    contexts = [row["context_tokens"] for row in told["sweep"]]
    return Grid(
        texts.heads("context_column", "kv_session", "kv_all", "total_gb", "total_gib"),
        tuple(
            (
                f.context_name(row["context_tokens"]),
                f.both_units(row["kv_bytes_per_session"]),
                f.both_units(row["kv_bytes"]),
                f.gb(row["total_bytes"]),
                f.gib(row["total_bytes"]),
            )
            for row in told["sweep"]
        ),
        right=frozenset(range(1, 5)),
        marked=contexts.index(told["context_tokens"]),
    )


def _note(note: Document, texts: PlanTexts) -> tuple[str, ...]:
    supported = note["is_supported"]
    told = f.NONE if supported is None else texts.say("yes" if supported else "no")
    name = texts.say("weights" if note["lever"] == "weights" else "kv")
    return (f"{name} {note['choice']}", note["costs"], note["needs"], told)


def _result(step: Document) -> str:
    return f"{written(step['result'])} {step['unit'].strip()}"
