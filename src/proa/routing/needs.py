"""What a router must know of a request, so that nothing else is looked for."""

import msgspec

from proa.routing.rules import exact_path
from proa.routing.spec import MatchSpec, PolicyName, RoutingSpec

CLASS_HEADER = "x-proa-class"


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """`headers` are matched on. `input_tokens` and `max_tokens` differ from body to body,
    `pii`, and `request_class` where a classifier tells it: matches of others can be kept by head.
    `session` and `prefix` are for the policy, not for the match.
    """

    headers: frozenset[str] = frozenset()
    input_tokens: bool = False
    max_tokens: bool = False
    request_class: bool = False
    classified: bool = False
    pii: bool = False
    tenant: bool = False
    session: bool = False
    prefix: bool = False

    @property
    def body(self) -> bool:
        """Whether the match depends on more of the body than its model."""
        return self.input_tokens or self.max_tokens or self.classified or self.pii

    @property
    def policy(self) -> bool:
        """Whether the choice depends on more than on the match."""
        return self.session or self.prefix


def needs_of(spec: RoutingSpec, path: str | None) -> Needs:
    """What the routes that a request on `path` can take ask for; None is any other path."""
    matches = [r.match for r in spec.routes if exact_path(r.match) in (None, path)]
    asks_class = any(match.request_class is not None for match in matches)
    headers = {name for match in matches for name, _ in match.headers}
    return Needs(
        headers=frozenset(headers | ({CLASS_HEADER} if asks_class else set())),
        input_tokens=any(map(_asks_input_tokens, matches)),
        max_tokens=any(
            match.max_tokens is not None or match.min_tokens is not None for match in matches
        ),
        request_class=asks_class,
        classified=asks_class and spec.classifier is not None,
        pii=any(match.pii is not None for match in matches),
        tenant=any(match.tenant is not None for match in matches),
        session=spec.policy is PolicyName.SESSION,
        prefix=spec.policy is PolicyName.PREFIX_AFFINITY,
    )


def _asks_input_tokens(match: MatchSpec) -> bool:
    return match.max_input_tokens is not None or match.min_input_tokens is not None
