"""What has to be said beside the numbers: questions, assumptions, warnings, the engine advised."""

from collections.abc import Iterator
from typing import Any

import msgspec

from proa.cli.plan.memory import precision_warnings
from proa.cli.plan.texts import both
from proa.cli.plan.think import Thought
from proa.errors import InputError
from proa.planner.assumptions import Assumption
from proa.planner.place.engine_advice import EngineNeedSpec, advise_engine
from proa.planner.place.link_warnings import link_warnings
from proa.planner.place.placement import PlacementPlan, PlacementSpec, place
from proa.planner.place.sizing_warnings import SizingSpec, sizing_warnings
from proa.planner.promise.questions import Question, QuestionsSpec, five_questions
from proa.planner.text import Text

Json = dict[str, Any]
_LONG_WAIT_S = 10.0
_ASSUMED_BY = {"context": "context_tokens", "weights": "allow_weights", "kv_dtype": "allow_kv"}


def assumptions_of(t: Thought) -> tuple[Assumption, ...]:
    """Every answer that nobody gave, once."""
    found = [*(t.demand.assumptions if t.demand else ())]
    found += t.lengths.assumptions if t.demand else ()
    found += t.subject.assumptions if t.subject else ()
    found += t.promise.assumptions if t.promise else ()
    found += t.measured.assumptions
    found += t.bill.assumptions
    return tuple({each.field: each for each in reversed(found)}.values())[::-1]


def questions_document(t: Thought, language: str) -> list[Json]:
    """The five questions that a plan answers, where sessions were asked for."""
    if t.promise is None:
        return []
    promise = t.promise.contract
    assumed = {each.field for each in assumptions_of(t)}
    questions = five_questions(
        QuestionsSpec(
            sessions=promise.sessions,
            context_tokens=t.lengths.context_tokens,
            tokens_per_s=promise.user_tokens_per_s,
            ttft_p95_s=promise.ttft_p95_s or _LONG_WAIT_S,
            allow_weights=t.asked.allow_weights or (promise.weights or "bf16",),
            allow_kv=t.asked.allow_kv or (promise.kv_dtype or "bf16",),
            assumed={_ASSUMED_BY.get(field, field) for field in assumed},
        )
    )
    return [_question(each, t, language) for each in questions if _is_answered(each, t)]


def engine_document(t: Thought, language: str) -> Json | None:
    """The engine to take and why, with others that suit."""
    if t.sessions is None:
        return None
    parts = {part.key: part.tokens for part in t.lengths.parts}
    gpus = t.seat.plan.gpus if t.seat and t.seat.plan else 1
    advice = (
        advise_engine(
            EngineNeedSpec(
                sessions=t.sessions,
                gpu=t.gpu,
                gpus=gpus,
                shared_prefix_share=parts.get("system", 0) / t.lengths.input_tokens,
            )
        )
        if t.gpu is not None
        else None
    )
    if advice is None:
        return None
    return {
        "engine": advice.engine,
        "reasons": [each.text.say(language) for each in advice.reasons],
        "alternatives": [
            {"engine": each.engine, "reason": each.text.say(language)}
            for each in advice.alternatives
        ],
    }


def warnings_of(t: Thought) -> tuple[Text, ...]:
    """What a reader must not overlook."""
    return tuple(dict.fromkeys(_warnings(t)))


def _warnings(t: Thought) -> Iterator[Text]:
    if t.demand is not None and t.subject is None:
        yield both("warn_no_model")
    if t.demand is not None and t.subject is not None and t.gpu is None:
        yield both("warn_no_gpu")
    if t.asked.users is not None and t.asked.sessions is not None:
        yield both("warn_sessions_win")
    if t.subject is not None:
        yield from precision_warnings(t.subject, t.gpu)
        yield from _context_warnings(t)
    if t.seat is not None:
        yield from _seat_warnings(t)
    yield from t.measured.warnings
    if t.asked.explore and t.measured.speed is not None:
        yield both("warn_explore_uncalibrated")
    yield from t.bill.warnings


def _context_warnings(t: Thought) -> Iterator[Text]:
    most = t.subject.llm.max_context if t.subject else 0
    if most and t.lengths.context_tokens > most:
        values = {"context": f"{t.lengths.context_tokens:,}", "most": f"{most:,}"}
        yield both("warn_context").fill(model=t.subject.llm.id if t.subject else "", **values)
    yield from t.subject.llm.notes if t.subject else ()


def _seat_warnings(t: Thought) -> Iterator[Text]:
    seat = t.seat
    assert seat is not None
    if seat.plan is None:
        yield _with(both("warn_no_place"), reason=seat.note or Text("", ""))
        return
    plan, need = seat.plan, seat.spec.need
    yield from sizing_warnings(
        SizingSpec(
            sessions=need.sessions,
            gpus=plan.gpus,
            max_sessions=plan.max_sessions,
            smallest_gpus=_smallest(seat.spec, plan),
            mean_sessions=t.demand.mean_sessions if t.demand else None,
            evidence_users=t.calibration.most_users,
        )
    )
    yield from link_warnings(seat.spec, plan)
    if not plan.meets:
        yield _with(both("warn_not_met"), binding=both(plan.binding.value))
    if need.ttft_p95_s is None and plan.performance.ttft_p95_s > _LONG_WAIT_S:
        yield both("warn_long_wait").fill(seconds=f"{plan.performance.ttft_p95_s:.0f}")
    if t.asked.engine_version is None and plan.memory.engine == "vllm":
        yield both("warn_no_version").fill(profile=plan.memory.profile)
    doubts = plan.memory.doubts if seat.doubts is None else seat.doubts
    for told in (*plan.memory.warnings, *doubts, *plan.performance.doubts):
        if "version was given" not in told.en:
            yield told


def _with(text: Text, **parts: Text) -> Text:
    """The text with parts put in, each in the same language."""
    korean = {name: part.ko for name, part in parts.items()}
    english = {name: part.en for name, part in parts.items()}
    return Text(text.ko.format(**korean), text.en.format(**english))


def _smallest(spec: PlacementSpec, plan: PlacementPlan) -> int | None:
    """GPUs that would do, where a count was given."""
    if spec.gpus is None:
        return plan.gpus if plan.meets else None
    try:
        free = place(msgspec.structs.replace(spec, gpus=None))
    except InputError:
        return None
    return free.gpus if free.meets else None


def _question(question: Question, t: Thought, language: str) -> Json:
    origin = "assumed" if question.is_assumed else "given"
    if question.key == "sessions" and (t.reverse is not None or t.asked.sessions is None):
        origin = "reckoned"
    return {
        "key": question.key,
        "question": question.question.say(language),
        "answer": question.answer.say(language),
        "is_assumed": question.is_assumed,
        "origin": origin,
    }


def _is_answered(question: Question, t: Thought) -> bool:
    """Whether there is an answer at all, given or assumed."""
    promise = t.promise.contract if t.promise else None
    if question.key == "wait":
        return promise is not None and promise.ttft_p95_s is not None
    return question.key != "quality" or t.subject is not None or bool(t.asked.allow_weights)
