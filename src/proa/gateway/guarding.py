"""The guard of one generation of settings: its rules, its scanner, what it counts.

before the route   a body is searched, where a route asks for `pii`, or in the helper
after it           the rule of the tenant and the route is acted on: `refusal` tells why not,
                   `kept` narrows the engines, `limited` sets the limit of tokens
the answer         `guarded_relay`, `guarded_answer`
"""

from collections.abc import Mapping

from proa.gateway.guard_work import Acted
from proa.gateway.settings import GatewaySettings
from proa.guard.policy import NOT_PERSONAL, GuardRule, effective
from proa.guard.scan import Scanner
from proa.routing.decision import Refusal
from proa.telemetry.rows import GUARD_ACTIONS, Guard, guard_cell

INLINE_MAX_BYTES = 16_384
"""Larger bodies go to the helper: 1 KiB takes some 20 µs, of a list of phone numbers 200."""


class GatewayGuard:
    """`counts` are the worker's cells; `is_idle_for` saves all work where no rule asks for any."""

    def __init__(self, settings: GatewaySettings, counts: list[int]) -> None:
        guard = settings.guard
        assert guard is not None
        self.settings = guard
        self.detectors = guard.detectors
        self.scanner = Scanner(None, guard.detectors)
        self.counts = counts
        self._routes = settings.route_guards
        self._tenants = settings.tenant_guards
        self._rules: dict[tuple[str, str], GuardRule] = {}
        self._idle: dict[str, bool] = {}

    def rule(self, route: str, tenant: str) -> GuardRule:
        """What holds for a tenant's request on a route; "" is no route of its own."""
        rule = self._rules.get((route, tenant))
        if rule is None:
            levels = self._routes.get(route), self._tenants.get(tenant)
            rule = self._rules[route, tenant] = effective(self.settings, *levels)
        return rule

    def is_idle_for(self, tenant: str) -> bool:
        """Whether no route's rule has anything to look for in this tenant's bodies."""
        idle = self._idle.get(tenant)
        if idle is None:
            rules = [self.rule(route, tenant) for route in ("", *self._routes)]
            idle = self._idle[tenant] = all(map(passes, rules))
        return idle

    def count(self, rule: GuardRule, found: Mapping[str, int], *, in_answer: bool) -> None:
        """Findings by type and by what is done with them."""
        mode_of = rule.answer_mode_of if in_answer else rule.mode_of
        for type_, number in found.items():
            mode = mode_of(type_)
            if mode in GUARD_ACTIONS:
                self.counts[guard_cell(type_, mode, in_answer=in_answer)] += number


def passes(rule: GuardRule) -> bool:
    """Whether a request needs no look at its texts."""
    asks = rule.blocked_patterns or rule.allowed_tools or rule.media == "block"
    return rule.is_idle and not asks


def personal(rule: GuardRule, found: Mapping[str, int]) -> list[str]:
    """The types found that are personal data by this rule: for `match.pii` and `keep_on`."""
    modes = {type_: rule.mode_of(type_) for type_ in found}
    return [t for t, mode in modes.items() if mode not in ("off", NOT_PERSONAL.get(t))]


def refusal(rule: GuardRule, acted: Acted, counts: list[int]) -> Refusal | None:
    """Why a request may not go to any engine; types are named, values never."""
    blocked = [type_ for type_ in acted.counts if rule.mode_of(type_) == "block"]
    if blocked:
        counts[Guard.REFUSED_PII] += 1
        told = f"personal data that may not be sent: {', '.join(sorted(blocked))} (pii_blocked)"
        return Refusal(400, "pii_blocked", told)
    if acted.is_media_blocked:
        counts[Guard.REFUSED_MEDIA] += 1
        told = "images, sound and files may not be sent (media_blocked)"
        return Refusal(400, "media_blocked", told)
    broken = acted.broken
    if broken is None:
        return None
    counts[Guard.REFUSED_LIMIT] += 1
    if broken.tool is not None:
        told = f"the tool `{broken.tool}` is not among the allowed ones (tool_not_allowed)"
        return Refusal(400, "tool_not_allowed", told)
    told = f"the request holds what blocked_patterns[{broken.pattern}] finds (pattern_blocked)"
    return Refusal(400, "pattern_blocked", told)
