"""A plan as one document, which programs read and every page is made of."""

from typing import Any

import msgspec

from proa.cli.plan.bill import cost_document
from proa.cli.plan.demand import demand_document
from proa.cli.plan.memory import context_document, lever_rows, model_document, note_documents
from proa.cli.plan.models import models_document
from proa.cli.plan.options import alternatives_document, seats_document
from proa.cli.plan.place import memory_document, performance_document, placement_document
from proa.cli.plan.promise import promise_document
from proa.cli.plan.remarks import assumptions_of, engine_document, questions_document, warnings_of
from proa.cli.plan.search import explore_document, reverse_document
from proa.cli.plan.think import Thought
from proa.planner.memory.levers import LeverRow

Json = dict[str, Any]


def document_of(thought: Thought, language: str) -> Json:
    """The plan as other programs read it; what is not known is null.

    Raises:
        InputError: models that share a GPU, or alternatives, that cannot be used.
    """
    t = thought
    rows: tuple[LeverRow, ...] = ()
    if t.subject is not None and t.sessions is not None:
        rows = lever_rows(t.subject, t.lengths, t.sessions, t.gpu)
    is_confirmed = t.promise is not None and t.measured.confirms(t.promise.contract)
    promise = promise_document(t.promise)
    return {
        "demand": demand_document(t.demand, t.solved, language),
        "model": model_document(t.subject),
        "levers": [msgspec.structs.asdict(row) for row in rows],
        "placement": placement_document(t.seat),
        "performance": performance_document(t.seat),
        "cost": cost_document(t.bill, language),
        "clause": promise["clause"],
        "status": "confirmed" if is_confirmed else "provisional",
        "verify_command": promise["verify_command"],
        "assumptions": [each.text.say(language) for each in assumptions_of(t)],
        "warnings": [each.say(language) for each in warnings_of(t)],
        "questions": questions_document(t, language),
        "context": context_document(t.subject, t.lengths, t.sessions, language),
        "lever_notes": note_documents(rows, t.gpu, language),
        "memory": memory_document(t.seat.plan.memory if t.seat and t.seat.plan else None, language),
        "models": models_document(t.asked),
        "other_gpus": seats_document(t.asked, list(t.seats)),
        "engine": engine_document(t, language),
        "alternatives": alternatives_document(
            t.asked, t.gpu, t.aggregate_tokens_per_s, t.gpus, language
        ),
        "reverse": reverse_document(t.reverse),
        "explore": _explored(t),
        "contract": promise["contract"],
        "contract_toml": promise["contract_toml"],
    }


def _explored(t: Thought) -> Json | None:
    if not t.asked.explore or t.subject is None or t.promise is None:
        return None
    from proa.cli.plan.place import need_of

    promise = t.promise.contract
    need = need_of(t.asked, t.lengths, promise.sessions, promise.user_tokens_per_s)
    gpu = t.gpu if t.asked.gpu is not None else None
    return explore_document(t.asked, t.lengths, t.subject, gpu, need)
