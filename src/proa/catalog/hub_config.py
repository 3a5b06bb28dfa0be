"""A model's config.json, as the hub has it, to an `LlmSpec`."""

from collections import Counter
from collections.abc import Mapping

from proa.catalog.hub_attention import attention_of
from proa.catalog.hub_extras import draft_layers, extra_parameters
from proa.catalog.hub_feed import feed_of
from proa.catalog.hub_fields import HubFields
from proa.catalog.hub_hybrid import hybrid_layers
from proa.catalog.hub_kinds import KNOWN_KINDS
from proa.catalog.hub_quantization import quantization_of
from proa.domain.llm import LayerGroup, LlmSpec
from proa.domain.text import Text
from proa.errors import InputError


def llm_from_config(
    config: Mapping[str, object],
    *,
    id: str,  # noqa: A002
    quant_config: Mapping[str, object] | None = None,
    source: str = "",
) -> LlmSpec:
    """The architecture that a config.json describes.

    `quant_config` is the hf_quant_config.json that some checkpoints have beside it. An
    architecture that is not known is taken as a plain decoder if every field is there, and
    `notes` say so.

    Not modelled:
        encoder-decoder models, and adapters.

    Raises:
        InputError: a field is missing or no number; the message names model and key.
    """
    fields = HubFields(config, model=id)
    groups = _groups(fields)
    return LlmSpec(
        id=id,
        architecture=fields.architecture,
        hidden=fields.whole("hidden_size", "n_embd", "d_model"),
        vocab=fields.whole("vocab_size", "padded_vocab_size"),
        layers=groups,
        tied_embeddings=_tied(fields),
        max_context=fields.whole_or_none("max_position_embeddings", "n_positions", "seq_length")
        or 0,
        extra_parameters=extra_parameters(fields),
        draft_layers=draft_layers(fields),
        quantization=quantization_of(fields, quant_config),
        source=source,
        notes=_notes(fields),
    )


def _groups(fields: HubFields) -> tuple[LayerGroup, ...]:
    special = hybrid_layers(fields)
    if special is None:
        count = fields.whole("num_hidden_layers", "n_layer", "num_layers", "n_layers")
        special = [
            (attention_of(fields, at, count), feed_of(fields, at, count)) for at in range(count)
        ]
    if not special:
        raise InputError(
            f"{fields.model}: config.json: `num_hidden_layers` = 0: accepted is 1 or more"
        )
    counted = Counter(special)
    return tuple(
        LayerGroup(count=count, attention=attention, feed=feed)
        for (attention, feed), count in counted.items()
    )


def _tied(fields: HubFields) -> bool:
    told = fields.get("tie_word_embeddings")
    if told is None:  # the default of the libraries, but for families that write it only when off
        return fields.kind.startswith(("gemma", "cohere"))
    return bool(told)


def _notes(fields: HubFields) -> tuple[Text, ...]:
    if fields.kind in KNOWN_KINDS:
        return ()
    name = fields.architecture or fields.kind
    return (_UNKNOWN.fill(name=name) if name else _NAMELESS,)


_UNKNOWN = Text(
    "아는 구조가 아니므로({name}) Llama와 같은 디코더로 읽었습니다",
    "architecture {name} is not known: taken as a plain decoder like Llama",
)
_NAMELESS = Text(
    "구조의 이름이 없어 Llama와 같은 디코더로 읽었습니다",
    "architecture without a name is not known: taken as a plain decoder like Llama",
)
