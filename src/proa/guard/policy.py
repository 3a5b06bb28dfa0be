"""Which mode holds for a type of personal data: a tenant's word, a route's, then [guard]'s."""

from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

import msgspec

from proa.guard.detectors import DetectorSpec

Mode = Literal["off", "count", "mask", "token", "block"]
MODES: tuple[Mode, ...] = get_args(Mode)
Media = Literal["allow", "block"]
Language = Literal["ko", "en"]

NEVER_TOKENS = frozenset(("resident_number", "foreigner_number"))
"""Masked for good where the mode says "token": the law forbids to keep these numbers."""
NOT_PERSONAL: Mapping[str, Mode] = {"corporate_number": "count"}
"""Public numbers: what a general mode does to them at most; a word of their own goes before."""


class GuardSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What one level (a tenant, a route, or the whole gateway) says; None says nothing."""

    mode: Mode | None = None
    types: dict[str, Mode] = {}
    answers: bool | None = None
    keep_on: tuple[str, ...] | None = None
    media: Media | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    blocked_patterns: tuple[str, ...] | None = None
    allowed_tools: tuple[str, ...] | None = None


class GuardSettings(GuardSpec, frozen=True, kw_only=True):
    """The table [guard]: what holds where no route and no tenant says otherwise.

    `detectors`: the user's own types. `language`: of the tokens' labels.
    """

    detectors: tuple[DetectorSpec, ...] = ()
    language: Language = "ko"


class GuardRule(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for one request, after precedence.

    `modes` names the types that differ from `mode`. `keep_on`: engines that a request with
    findings may go to, empty for all. Limits: 0 is none. `allowed_tools`: empty for all.
    """

    mode: Mode = "mask"
    modes: dict[str, Mode] = {}
    answers: bool = True
    keep_on: tuple[str, ...] = ()
    media: Media = "allow"
    max_input_tokens: int = 0
    max_output_tokens: int = 0
    blocked_patterns: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    language: Language = "ko"
    labels: dict[str, str] = {}
    has_detectors: bool = False

    def mode_of(self, type_: str) -> Mode:
        """What is done with findings of this type in a request."""
        return self.modes.get(type_, self.mode)

    def answer_mode_of(self, type_: str) -> Mode:
        """What is done with findings in an answer: what a request may not hold is masked there."""
        mode = self.modes.get(type_, self.mode)
        return "mask" if mode in ("token", "block") else mode

    @property
    def is_idle(self) -> bool:
        """Whether no text of a request needs to be searched for personal data."""
        return self.mode == "off" and all(mode == "off" for mode in self.modes.values())

    @property
    def may_make_tokens(self) -> bool:
        return self.mode == "token" or "token" in self.modes.values()

    @property
    def masks_answers(self) -> bool:
        """Whether answers are searched at all."""
        return self.answers and not self.is_idle


def effective(
    settings: GuardSettings, route: GuardSpec | None = None, tenant: GuardSpec | None = None
) -> GuardRule:
    """The rule for requests of this route and tenant; make it once for each pair.

    For a type the first level that says anything decides: its word on the type, else its mode.
    """
    levels = [level for level in (tenant, route, settings) if level is not None]
    named = {type_ for level in levels for type_ in level.types}
    named |= {detector.name for detector in settings.detectors if detector.mode}
    general = _general(levels)
    modes: dict[str, Mode] = {}
    for type_ in sorted(named | NEVER_TOKENS | NOT_PERSONAL.keys()):
        mode = _mode(type_, levels, settings)
        if mode != general:
            modes[type_] = mode
    said = {name: _first(levels, name) for name in _PLAIN}
    return GuardRule(
        mode=general,
        modes=modes,
        language=settings.language,
        has_detectors=bool(settings.detectors),
        labels={each.name: each.label for each in settings.detectors if each.label},
        **{name: value for name, value in said.items() if value is not None},
    )


_PLAIN = (
    "answers", "keep_on", "media", "max_input_tokens", "max_output_tokens",
    "blocked_patterns", "allowed_tools",
)  # fmt: skip


def _first(levels: list[GuardSpec], name: str) -> Any:
    return next((v for level in levels if (v := getattr(level, name)) is not None), None)


def _general(levels: list[GuardSpec]) -> Mode:
    return next((level.mode for level in levels if level.mode is not None), "mask")


def _mode(type_: str, levels: list[GuardSpec], settings: GuardSettings) -> Mode:
    mode = _said(type_, levels, settings)
    return "mask" if mode == "token" and type_ in NEVER_TOKENS else mode


def _said(type_: str, levels: list[GuardSpec], settings: GuardSettings) -> Mode:
    for level in levels:
        if type_ in level.types:
            return level.types[type_]
        if level is settings:
            break
        if level.mode is not None:
            return _at_most(type_, level.mode)
    own = next((each.mode for each in settings.detectors if each.name == type_), None)
    if own is not None:
        return cast("Mode", own)
    return _at_most(type_, settings.mode or "mask")


def _at_most(type_: str, mode: Mode) -> Mode:
    return NOT_PERSONAL.get(type_, mode) if mode != "off" else mode
