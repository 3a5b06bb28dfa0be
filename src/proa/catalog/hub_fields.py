"""A hub config.json as fields: read by any of their names; an error names the missing one."""

from collections.abc import Mapping

from proa.errors import InputError

_TEXT_TABLES = ("text_config", "llm_config", "language_config", "thinker_config", "text_model")


class HubFields:
    """The part of a config.json that tells of the language model.

    Multimodal models nest it (`text_config` and its like); what it lacks is looked up outside.
    """

    def __init__(self, config: Mapping[str, object], *, model: str) -> None:
        self.model = model
        self.outer = config
        self.inner = _language_table(config)

    def get(self, *names: str) -> object:
        """The first of `names` that is set; null counts as not set."""
        for name in names:
            for table in (self.inner, self.outer):
                if table.get(name) is not None:
                    return table[name]
        return None

    def whole(self, *names: str) -> int:
        """A count that has to be there.

        Raises:
            InputError: none of `names` is set, or it is no whole number.
        """
        found = self.whole_or_none(*names)
        if found is None:
            others = f" (or {', '.join(f'`{name}`' for name in names[1:])})" if names[1:] else ""
            raise InputError(f"{self.model}: config.json lacks `{names[0]}`{others}")
        return found

    def whole_or_none(self, *names: str) -> int | None:
        """A count that may be missing.

        Raises:
            InputError: it is there, and is no whole number.
        """
        found = self.get(*names)
        if found is None:
            return None
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise InputError(
                f"{self.model}: config.json: `{names[0]}` = {found!r}: accepted is a whole number"
            )
        return found

    def flag(self, *names: str) -> bool:
        """A switch; not set is off."""
        return bool(self.get(*names))

    def text(self, *names: str) -> str:
        """A word; empty where it is not set."""
        found = self.get(*names)
        return found if isinstance(found, str) else ""

    def table(self, *names: str) -> Mapping[str, object]:
        """A nested table; empty where it is not set."""
        found = self.get(*names)
        return found if isinstance(found, Mapping) else {}

    def per_layer(self, *names: str, layers: int) -> list[object] | None:
        """A list with an entry for each layer; longer lists (draft layers follow) are cut.

        Raises:
            InputError: the list is shorter than the model.
        """
        found = self.get(*names)
        if not isinstance(found, list | tuple):
            return None
        if len(found) < layers:
            told = f"`{names[0]}` has {len(found)} entries for {layers} layers"
            raise InputError(f"{self.model}: config.json: {told}")
        return list(found[:layers])

    @property
    def kind(self) -> str:
        """The language model's `model_type`, in lower case."""
        return self.text("model_type").removesuffix("_text").lower()

    @property
    def architecture(self) -> str:
        """The class that the hub names, of the whole model."""
        for table in (self.outer, self.inner):
            named = table.get("architectures")
            if isinstance(named, list | tuple) and named and isinstance(named[0], str):
                return named[0]
        return ""


def _language_table(config: Mapping[str, object]) -> Mapping[str, object]:
    for name in _TEXT_TABLES:
        nested = config.get(name)
        if isinstance(nested, Mapping) and nested:
            return _language_table(nested)
    return config
