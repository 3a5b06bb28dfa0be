"""Which APIs an engine does not speak, and the translation of a request to one of them.

What a kind surely lacks is translated at once. What it may lack (its version decides) is
sent as it is first: an answer that says "no such route" costs the engine nothing, and from
then on such requests are translated.
"""

from proa.domain.fleet import EngineKind, EngineSpec
from proa.wire.surface import surface_of
from proa.wire.translate.base import Context, Translation
from proa.wire.translate.chain import Chain
from proa.wire.translate.chat_tgi import TgiTranslation
from proa.wire.translate.chat_triton import TritonTranslation
from proa.wire.translate.messages_chat import MessagesTranslation
from proa.wire.translate.openai_prompt import PromptTranslation

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"

_OPENAI = frozenset((CHAT, COMPLETIONS))
_ANTHROPIC = frozenset((MESSAGES, COUNT_TOKENS))
_NONE: frozenset[str] = frozenset()
_LACKS = {EngineKind.TRITON: _OPENAI | _ANTHROPIC, EngineKind.TGI: _ANTHROPIC}
_MAY_LACK = {
    EngineKind.AUTO: _ANTHROPIC,
    EngineKind.OPENAI: _ANTHROPIC,
    EngineKind.OLLAMA: _ANTHROPIC,
    EngineKind.TGI: _OPENAI,  # before 1.4 it had its own routes only
}
_PROMPT_APIS: dict[EngineKind, type[PromptTranslation]] = {
    EngineKind.TRITON: TritonTranslation,
    EngineKind.TGI: TgiTranslation,
}
_NO_ROUTE = (404, 405)


class Dialect:
    """What one engine lacks; `lacks` grows with its answers, `may_lack` says by which.

    `bits` are those of the surfaces whose requests are translated or may turn out to need it.
    """

    def __init__(self, kind: EngineKind, lacks: frozenset[str], may_lack: frozenset[str]) -> None:
        self.kind = kind
        self.lacks = set(lacks)
        self.may_lack = may_lack
        self.bits = sum(surface_of(path.encode()).translation_bit for path in lacks | may_lack)

    def translate(
        self, path: str, body: bytes, context: Context, *, model: str | None
    ) -> Translation | None:
        """The request in the engine's own terms; None where it is sent as it is.

        Raises:
            Untranslatable: the request asks for what the engine's API has no word for.
        """
        outer: Translation | None = None
        if path == MESSAGES and path in self.lacks:
            outer = MessagesTranslation(body, context, model=model)
            path, body = CHAT, outer.body
        prompt_api = _PROMPT_APIS.get(self.kind)
        if path not in _OPENAI or path not in self.lacks or prompt_api is None:
            return outer
        inner = prompt_api(body, context, model=model, chat=path == CHAT)
        return inner if outer is None else Chain(outer, inner)

    def learns(self, path: str, status: int, body: bytes) -> bool:
        """Whether this answer tells for the first time that the engine has no such route."""
        if path not in self.may_lack or path in self.lacks or not says_no_route(status, body):
            return False
        self.lacks.add(path)
        return True


def dialect_of(spec: EngineSpec, kind: EngineKind) -> Dialect | None:
    """The dialect of an engine that is of `kind`; None where nothing needs translating."""
    if spec.lacks is not None:
        lacks, may_lack = frozenset(spec.lacks), _NONE
    else:
        lacks, may_lack = _LACKS.get(kind, _NONE), _MAY_LACK.get(kind, _NONE)
    return Dialect(kind, lacks, may_lack) if lacks or may_lack else None


def says_no_route(status: int, body: bytes) -> bool:
    """Whether an answer means that the path is not known, rather than the model in the body.

    An engine that knows the path says what it misses in its API's form, with an `error`
    in it; a web framework answers with nothing, with text, or with `{"detail": "Not Found"}`.
    """
    return status in _NO_ROUTE and b'"error"' not in body
