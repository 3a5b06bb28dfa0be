"""Prompts: of the length asked, each its own, the same for the same number."""

import random
from statistics import fmean, pstdev

import pytest

from proa.bench.datasets import DatasetRow
from proa.bench.lengths import LengthLaw, LengthSpec, parse_length
from proa.bench.trace import TraceRow
from proa.bench.workloads import (
    Language,
    Prompt,
    Prompts,
    RagSpec,
    TokenScale,
    WorkloadSpec,
    repeated_share,
    texts_of,
)
from proa.errors import FieldError

SCALE = TokenScale(per_word=1.5, overhead=10.0)


def tokens_of(prompt: Prompt) -> float:
    words = sum(len(str(m["content"]).split()) for m in prompt.messages)
    return SCALE.overhead + SCALE.per_word * words


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("tokens", [40, 1000, 8000])
def test_prompts_have_the_length_asked(language: Language, tokens: int) -> None:
    prompts = Prompts(WorkloadSpec(input=LengthSpec(tokens), language=language), SCALE)
    made = prompts.make(7)
    assert made.input_tokens == tokens
    assert tokens_of(made) == pytest.approx(tokens, abs=1.0)


def test_b43_prompts_share_no_beginning_unless_asked() -> None:
    """B43: vllm #52884: the prefix cache must not help later levels."""
    spec = WorkloadSpec(input=LengthSpec(200))
    prompts = Prompts(spec, SCALE)
    texts = [texts_of(prompts.make(n).messages) for n in range(300)]
    assert len({text[:8] for text in texts}) == 300
    assert texts_of(Prompts(spec, SCALE).make(5).messages) == texts[5]
    assert texts_of(Prompts(WorkloadSpec(seed=1), SCALE).make(5).messages) != texts[5]


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_a_shared_prefix_has_the_share_asked(share: float) -> None:
    prompts = Prompts(WorkloadSpec(input=LengthSpec(1000), shared_share=share), SCALE)
    one, other = (texts_of(prompts.make(n).messages).split() for n in (1, 2))
    differing = (n for n, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1)
    same = next(differing, min(len(one), len(other)))
    assert same / len(one) == pytest.approx(share, abs=0.01)


def test_retrieval_shares_only_the_system_prompt() -> None:
    rag = RagSpec(chunks=4, system_tokens=100, question_tokens=20)
    prompts = Prompts(WorkloadSpec(input=LengthSpec(1000), rag=rag), SCALE)
    one, other = prompts.make(1), prompts.make(2)
    assert one.messages[0] == other.messages[0]
    assert one.messages[1] != other.messages[1]
    assert str(one.messages[1]["content"]).count("\n\n") == 4
    assert tokens_of(one) == pytest.approx(1000, rel=0.02)


def test_a_conversation_grows_by_its_answers_and_begins_anew() -> None:
    prompts = Prompts(WorkloadSpec(input=LengthSpec(100), turns=2, turn_tokens=30), SCALE)
    first = prompts.make(0, user=1)
    second = prompts.make(1, user=1, answer="Yes.")
    third = prompts.make(2, user=1, answer="No.")
    assert [m["role"] for m in second.messages] == ["user", "assistant", "user"]
    assert second.messages[:1] == first.messages
    assert second.messages[1]["content"] == "Yes."
    assert second.input_tokens == 100 + 200 + 30
    assert len(third.messages) == 1


def test_a_dataset_is_gone_through_before_it_repeats() -> None:
    rows = [DatasetRow([{"role": "user", "content": f"q{n}"}], 7 if n else None) for n in range(5)]
    spec = WorkloadSpec(dataset=rows, output=LengthSpec(99))
    prompts = Prompts(spec, SCALE)
    made = [prompts.make(n) for n in range(5)]
    assert sorted(texts_of(p.messages) for p in made) == [f"q{n}" for n in range(5)]
    assert sorted(p.output_tokens for p in made) == [7, 7, 7, 7, 99]
    assert {p.input_tokens for p in made} == {None}


def test_a_trace_gives_each_request_its_lengths() -> None:
    rows = [TraceRow(0.0, 50, 5), TraceRow(1.0, 300, 9)]
    prompts = Prompts(WorkloadSpec(trace=rows), SCALE)
    made = prompts.make(77, user=1)
    assert (made.input_tokens, made.output_tokens) == (300, 9)
    assert tokens_of(made) == pytest.approx(300, abs=1)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("512", LengthSpec(512)),
        ("8K", LengthSpec(8192)),
        ("normal:8000:1500", LengthSpec(8000, 1500, LengthLaw.NORMAL)),
        ("lognormal:300:200", LengthSpec(300, 200, LengthLaw.LOGNORMAL)),
    ],
)
def test_lengths_are_read(text: str, spec: LengthSpec) -> None:
    assert parse_length("--input-tokens", text) == spec


@pytest.mark.parametrize("text", ["0", "-1", "uniform:1:2", "normal:5", "1.5", ""])
def test_other_lengths_are_refused(text: str) -> None:
    with pytest.raises(FieldError, match="--input-tokens"):
        parse_length("--input-tokens", text)


@pytest.mark.parametrize("law", [LengthLaw.NORMAL, LengthLaw.LOGNORMAL])
def test_lengths_have_the_mean_and_deviation_of_the_length_itself(law: LengthLaw) -> None:
    dice = random.Random(1)
    drawn = [LengthSpec(1000, 300, law).draw(dice) for _ in range(20_000)]
    assert fmean(drawn) == pytest.approx(1000, rel=0.02)
    assert pstdev(drawn) == pytest.approx(300, rel=0.05)


@pytest.mark.parametrize(
    ("spec", "share"),
    [
        (WorkloadSpec(), 0.0),
        (WorkloadSpec(shared_share=0.4), 0.4),
        (WorkloadSpec(unique=False), 1.0),
        (WorkloadSpec(input=LengthSpec(1000), rag=RagSpec(system_tokens=300)), 0.3),
        (WorkloadSpec(input=LengthSpec(1000), rag=RagSpec(documents=20)), 0.97),
        (WorkloadSpec(input=LengthSpec(100), turns=2, turn_tokens=50), 300 / 450),
    ],
)
def test_what_a_workload_sends_again_is_asked_for(spec: WorkloadSpec, share: float) -> None:
    assert repeated_share(spec) == pytest.approx(share)


def test_the_targets_own_template_comes_in_each_prompt() -> None:
    spec = WorkloadSpec(input=LengthSpec(60))
    assert repeated_share(spec, template_tokens=24.0) == pytest.approx(0.4)
