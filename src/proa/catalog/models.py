"""Models by the names that the hub gives them."""

import msgspec


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """One model; `parameters` counts all of them, embeddings included."""

    id: str
    parameters: int
    source: str


MODELS = {
    row.id: row
    for row in (
        ModelRow(
            id="Qwen/Qwen3-8B",
            parameters=8_190_735_360,
            source="safetensors index of Qwen/Qwen3-8B",
        ),
        ModelRow(
            id="Qwen/Qwen3-14B",
            parameters=14_768_307_200,
            source="safetensors index of Qwen/Qwen3-14B",
        ),
        ModelRow(
            id="meta-llama/Llama-3.1-8B-Instruct",
            parameters=8_030_261_248,
            source="safetensors index of meta-llama/Llama-3.1-8B-Instruct",
        ),
    )
}
"""All models, by id."""


def find_model(name: str) -> ModelRow | None:
    """The model with this id, whatever its case; the part before the slash may be left out."""
    wanted = name.casefold()
    for row in MODELS.values():
        full = row.id.casefold()
        if wanted in (full, full.rpartition("/")[2]):
            return row
    return None
