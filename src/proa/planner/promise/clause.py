"""The wording of a proposal or a contract, from the numbers that it promises."""

from fractions import Fraction

import msgspec

from proa.domain.contract import ContractLimits, ContractRule, ContractSpec
from proa.errors import FieldError
from proa.planner import bounds as b
from proa.planner.promise import clause_texts as t
from proa.planner.promise.verify import verify_command
from proa.planner.text import Text, percent, written

_SESSIONS_MARGIN = Fraction(5, 3)
_INPUT_MARGIN = 2


class ClausePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One promise in both languages, as numbered sections of plain text."""

    ko: str
    en: str


def clause(contract: ContractSpec) -> ClausePlan:
    """Conditions, triggers, measurement, what changes the result, and what a specification is not.

    Without `extend_above` every load beyond the promised one is a trigger.

    Raises:
        FieldError: a number is outside its range, or a limit lies below what is promised.
    """
    _check(contract)
    sections = (
        (t.CONDITIONS, _conditions(contract)),
        (t.TRIGGERS, _triggers(contract)),
        (t.MEASUREMENT, _measurement(contract)),
        (t.DEPENDENCE, [t.CHANGES, t.MEASURE_AGAIN]),
        (t.SPECIFICATION, [t.NOT_THE_SAME]),
    )
    return ClausePlan(ko=_text(sections, "ko"), en=_text(sections, "en"))


def suggested_limits(sessions: int, mean_input_tokens: int) -> ContractLimits:
    """Triggers where none are agreed: 5/3 of the sessions, rounded up, and twice the input."""
    return ContractLimits(
        sessions=-(-sessions * _SESSIONS_MARGIN.numerator // _SESSIONS_MARGIN.denominator),
        mean_input_tokens=mean_input_tokens * _INPUT_MARGIN,
    )


def _check(contract: ContractSpec) -> None:
    b.checked("sessions", contract.sessions, b.COUNT)
    b.checked("mean_input_tokens", contract.mean_input_tokens, b.COUNT)
    b.checked("user_tokens_per_s", contract.user_tokens_per_s, b.POSITIVE)
    b.checked("attainment", contract.attainment, b.SHARE)
    if contract.ttft_p95_s is not None:
        b.checked("ttft_p95_s", contract.ttft_p95_s, b.POSITIVE)
    if contract.output_tokens is not None:
        b.checked("output_tokens", contract.output_tokens, b.COUNT)
    for field in ("sessions", "mean_input_tokens"):
        limit, promised = getattr(contract.extend_above, field, None), getattr(contract, field)
        if limit is not None and limit < promised:
            raise FieldError(f"extend_above.{field}", limit, f"at least {field}, {promised}")


def _conditions(contract: ContractSpec) -> list[Text]:
    told = [
        t.SPEED.fill(
            sessions=written(contract.sessions),
            input=written(contract.mean_input_tokens),
            speed=written(contract.user_tokens_per_s),
        ),
        t.FORMULA,
    ]
    if contract.ttft_p95_s is not None:
        told.append(t.TTFT.fill(ttft=written(contract.ttft_p95_s)))
    if contract.output_tokens is not None:
        told.append(t.OUTPUT.fill(output=written(contract.output_tokens)))
    if parts := _configuration(contract):
        joined = Text(", ".join(p.ko for p in parts), ", ".join(p.en for p in parts))
        told.append(_filled(t.CONFIGURATION, configuration=joined))
    if contract.rule is ContractRule.MEAN:
        return [*told, t.MEAN]
    limit = t.PER_REQUEST_TTFT if contract.ttft_p95_s is not None else Text("", "")
    share = percent(contract.attainment)
    return [*told, _filled(t.PER_REQUEST, ttft=limit, attainment=Text(share, share))]


def _configuration(contract: ContractSpec) -> list[Text]:
    named = (
        (t.MODEL, contract.model),
        (t.WEIGHTS, contract.weights),
        (t.KV_CACHE, contract.kv_dtype),
    )
    return [text.fill(name=name) for text, name in named if name]


def _triggers(contract: ContractSpec) -> list[Text]:
    limits = contract.extend_above or ContractLimits()
    tokens, sessions = limits.mean_input_tokens, limits.sessions
    is_wider = (tokens or 0) > contract.mean_input_tokens or (sessions or 0) > contract.sessions
    if tokens is None and sessions is None:
        tokens, sessions = contract.mean_input_tokens, contract.sessions
    cases = []
    if tokens is not None:
        cases.append(t.INPUT_ABOVE.fill(tokens=written(tokens)))
    if sessions is not None:
        cases.append(t.SESSIONS_ABOVE.fill(sessions=written(sessions)))
    listed = [
        Text(f"  {ko} {case.ko}", f"  ({en}) {case.en}")
        for ko, en, case in zip(("가.", "나."), "ab", cases, strict=False)
    ]
    above = Text(
        "\n".join([t.ADD_ABOVE.ko, *(each.ko for each in listed)]),
        "\n".join([t.ADD_ABOVE.en, *(each.en for each in listed)]),
    )
    return [above, t.BETWEEN] if is_wider else [above]


def _measurement(contract: ContractSpec) -> list[Text]:
    nothing = Text("", "")
    output = nothing
    if contract.output_tokens is not None:
        output = t.LOAD_OUTPUT.fill(output=written(contract.output_tokens))
    load = _filled(
        t.LOAD,
        sessions=_same(written(contract.sessions)),
        input=_same(written(contract.mean_input_tokens)),
        output=output,
        ttft=nothing if contract.ttft_p95_s is None else t.LOAD_TTFT,
    )
    return [load, t.TOOL.fill(command=verify_command(contract)), t.RECORDS]


def _filled(text: Text, **parts: Text) -> Text:
    """Each language with the parts of that language."""
    return Text(
        text.ko.format(**{name: part.ko for name, part in parts.items()}),
        text.en.format(**{name: part.en for name, part in parts.items()}),
    )


def _same(text: str) -> Text:
    return Text(text, text)


def _text(sections: tuple[tuple[Text, list[Text]], ...], language: str) -> str:
    told = [
        "\n".join([head.say(language), *(f"- {line.say(language)}" for line in lines)])
        for head, lines in sections
    ]
    return "\n\n".join(told) + "\n"
