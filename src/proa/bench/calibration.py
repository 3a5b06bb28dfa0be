"""What a target is like before the load: its model, how it counts, which fields it takes.

Prompts are made of words; how many tokens a word has is learned from the usage of two probes
of different length, sent one after the other. The measured requests say whether it was right.
"""

import msgspec

from proa.bench.answer import Answer, read_answer
from proa.bench.ask import get, post
from proa.bench.body import BodySpec, body_of
from proa.bench.lengths import LengthSpec
from proa.bench.process_messages import TargetLoad
from proa.bench.target import TargetSpec, address_of, shown_address
from proa.bench.workloads import Prompt, Prompts, TokenScale, WorkloadSpec
from proa.errors import UpstreamError

_PROBE_WORDS = (60, 600)
_REFUSED = (400, 422)
_PROBE_TOKENS = 2
_ONE_WORD = TokenScale(per_word=1.0, overhead=0.0)
_PROBE_NUMBER = 10**9  # far from the numbers of a run, so that no prompt comes twice


class _Card(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Card] = []


async def prepare(target: TargetSpec, workload: WorkloadSpec, *, timeout_s: float) -> TargetLoad:
    """Ask what is needed to load a target.

    Raises:
        UpstreamError: it cannot be reached, lists no model where none is named, or refuses
            every probe.
    """
    try:
        if not target.model:
            target = msgspec.structs.replace(target, model=await _first_model(target))
        return await _calibrated(target, workload, timeout_s)
    except OSError as error:
        why = str(error) or type(error).__name__
        raise UpstreamError(f"{target.name} ({shown_address(target)}): {why}") from None


async def _first_model(target: TargetSpec) -> str:
    status, body = await get(target, f"{address_of(target.url).prefix}/v1/models")
    try:
        models = msgspec.json.decode(body, type=_Models).data
    except msgspec.MsgspecError:
        models = []
    if status != 200 or not models:
        named = f"{target.name} ({shown_address(target)})"
        raise UpstreamError(f"{named}: /v1/models names no model (status {status}); give --model")
    return models[0].id


async def _calibrated(target: TargetSpec, workload: WorkloadSpec, timeout_s: float) -> TargetLoad:
    spec = BodySpec(force=workload.force_output)
    points = []
    for index, words in enumerate(_probe_words(workload)):
        plain = WorkloadSpec(
            input=LengthSpec(words), output=LengthSpec(_PROBE_TOKENS),
            language=workload.language, seed=workload.seed,
        )  # fmt: skip
        prompt = Prompts(plain, _ONE_WORD).make(_PROBE_NUMBER + index)
        spec, answer = await _accepted(target, prompt_bodies(target, prompt, spec), timeout_s)
        if answer.usage is not None and answer.usage.prompt_tokens:
            points.append((words, answer.usage.prompt_tokens))
    return TargetLoad(target, spec, scale_of(points))


def _probe_words(workload: WorkloadSpec) -> tuple[int, int]:
    """Two lengths below the load's own, so that no context is too small for them."""
    longest = max(8, min(_PROBE_WORDS[1], workload.input.mean // 3))
    return max(4, min(_PROBE_WORDS[0], longest // 4)), longest


def prompt_bodies(
    target: TargetSpec, prompt: Prompt, spec: BodySpec
) -> list[tuple[BodySpec, bytes]]:
    """The body with all that we want, then with less and less, for engines that refuse fields."""
    specs = dict.fromkeys(
        (spec, BodySpec(force=False, usage=spec.usage), BodySpec(force=False, usage=False))
    )
    return [(one, body_of(target, prompt, one)) for one in specs]


async def _accepted(
    target: TargetSpec, bodies: list[tuple[BodySpec, bytes]], timeout_s: float
) -> tuple[BodySpec, Answer]:
    """The first form that the target does not call bad, and its answer."""
    told = "no answer"
    for spec, body in bodies:
        raw = await post(target, body, timeout_s=timeout_s)
        answer = read_answer(raw)
        if answer.status is not None and answer.status < 400:
            return spec, answer
        told = f"{answer.status or ''} {answer.error or raw.text or told}".strip()
        if answer.status not in _REFUSED:
            break
    raise UpstreamError(f"{target.name} ({shown_address(target)}): {told}")


def scale_of(points: list[tuple[int, int]]) -> TokenScale:
    """A line through two points (words, tokens); the default where usage is missing or odd."""
    if len(points) < 2:
        return TokenScale()
    (few, few_tokens), (many, many_tokens) = points
    per_word = (many_tokens - few_tokens) / (many - few) if many > few else 0.0
    if not 0.2 <= per_word <= 20:
        return TokenScale()
    return TokenScale(per_word, max(0.0, few_tokens - few * per_word), is_measured=True)
