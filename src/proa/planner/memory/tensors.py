"""All tensors of a model: how many numbers, in which role, which of them are quantised."""

from collections.abc import Iterator

from proa.domain.llm import ExpertFeed, LlmSpec, Quantization
from proa.planner.memory.layer_tensors import layer_tensors
from proa.planner.memory.tensor import Cut, Role, Tensor, vector

VOCABULARY_MULTIPLE = 64
"""Engines pad the vocabulary to this (vLLM: DEFAULT_VOCAB_PADDING_SIZE)."""


_WHOLE_TOWERS = ("KimiK25", "Mistral3", "Pixtral", "Llava")


def outer_tensors(llm: LlmSpec) -> tuple[Tensor, ...]:
    """What stands outside the layers: embedding, final norm, LM head, vision tower.

    A tied head has no tensor of its own here.
    """
    vocab = -(-llm.vocab // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE
    names = [("embedding", Role.EMBEDDING)]
    if not llm.tied_embeddings:
        names.append(("lm_head", Role.HEAD))
    tensors = [
        Tensor(
            name=name, role=role, units=vocab, unit_parameters=llm.hidden, input_width=llm.hidden
        )
        for name, role in names
    ]
    tensors.append(vector("final_norm", llm.hidden))
    if llm.extra_parameters:
        tensors.append(_extra(llm))
    return tuple(tensors)


def _extra(llm: LlmSpec) -> Tensor:
    """Vision towers are sliced, but for those that engines run whole on every rank."""
    whole = llm.architecture.startswith(_WHOLE_TOWERS)
    return Tensor(
        name="extra",
        role=Role.EXTRA,
        units=llm.extra_parameters,
        unit_parameters=1,
        cut=Cut.WHOLE if whole else Cut.TENSOR,
        matrix=False,
    )


def all_tensors(llm: LlmSpec) -> Iterator[tuple[Tensor, int]]:
    """Every tensor and how often it occurs."""
    for tensor in outer_tensors(llm):
        yield tensor, 1
    for group in llm.layers:
        for tensor in layer_tensors(llm, group.attention, group.feed):
            yield tensor, group.count


def parameter_count(llm: LlmSpec) -> int:
    """All numbers of the model, from its architecture; the vocabulary is not padded."""
    padding = -llm.vocab % VOCABULARY_MULTIPLE * llm.hidden * (1 if llm.tied_embeddings else 2)
    return sum(tensor.parameters * count for tensor, count in all_tensors(llm)) - padding


def active_parameter_count(llm: LlmSpec) -> int:
    """Numbers that one token passes through: matrices, with the routed experts it is sent to.

    The embedding is a look-up and counts only where it is the head as well.
    """
    total = 0
    for group in llm.layers:
        for tensor in layer_tensors(llm, group.attention, group.feed):
            share = 1
            if tensor.role is Role.EXPERT and isinstance(group.feed, ExpertFeed):
                share = group.feed.experts_per_token
                total += group.count * share * tensor.parameters // tensor.experts
            else:
                total += group.count * tensor.parameters
    return total + llm.vocab * llm.hidden


def is_quantised(tensor: Tensor, quantization: Quantization | None) -> bool:
    """Whether a checkpoint of this kind keeps the tensor in its quantised format."""
    if quantization is None or not tensor.matrix:
        return False
    attention = quantization.attention
    if tensor.name == "o" and quantization.attention_output is not None:
        attention = quantization.attention_output
    return {
        Role.ATTENTION: attention,
        Role.LINEAR_ATTENTION: quantization.linear_attention,
        Role.DENSE_FEED: quantization.dense_feed,
        Role.EXPERT: True,
        Role.SHARED_EXPERT: quantization.shared_experts,
        Role.HEAD: quantization.head,
    }.get(tensor.role, False)
