"""Masks: what was found is gone for good, its shape stays readable."""

import re

from proa.guard.types import label

__all__ = ["label", "mask"]

_STARS = "********"  # for secrets, whose length is part of them
_WORD = re.compile(r"\w")
_DIGIT = re.compile(r"\d")


def mask(type_: str, text: str) -> str:
    """The text with `*` in place of what identifies; separators stay where they were."""
    return _MASKS.get(type_, _all)(text)


def _all(text: str) -> str:
    return _WORD.sub("*", text)


def _phone(text: str) -> str:
    """The first group stays: 010-****-****, +82 10-****-****; spoken digits are gone."""
    if not text[-1].isdigit():
        return _all(text)
    kept = max(3, text.find("-", 3)) if text[0] in "+\uff0b" else 3
    return text[:kept] + _DIGIT.sub("*", text[kept:])


def _card(text: str) -> str:
    """The last four digits stay, as on a receipt."""
    places = [found.start() for found in _DIGIT.finditer(text)]
    if len(places) < 8:
        return _all(text)
    return _DIGIT.sub("*", text[: places[-4]]) + text[places[-4] :]


def _email(text: str) -> str:
    return "***" + text[text.rfind("@") :]


def _address(text: str) -> str:
    """The province or city stays."""
    head, space, rest = text.partition(" ")
    return head + space + _all(rest)


def _secret(text: str) -> str:
    del text
    return _STARS


_MASKS = {
    "mobile_phone": _phone,
    "phone": _phone,
    "card": _card,
    "email": _email,
    "address": _address,
    "api_key": _secret,
    "jwt": _secret,
    "private_key": _secret,
    "password": _secret,
    "ci_di": _secret,
}
