"""Tools that a request may offer, and patterns that it may not hold, as values."""

import json

import pytest

from proa.errors import FieldError
from proa.guard.limits import BrokenLimit, broken_limit, check_pattern
from proa.guard.policy import GuardRule

RULE = GuardRule(allowed_tools=("search",), blocked_patterns=("zzz", "(?i)ignore (all|previous)"))


@pytest.mark.parametrize(
    ("path", "request_", "expected"),
    [
        (
            "/v1/chat/completions",
            {"tools": [{"type": "function", "function": {"name": "rm"}}]},
            "rm",
        ),
        ("/v1/chat/completions", {"functions": [{"name": "rm"}]}, "rm"),
        ("/v1/chat/completions", {"tools": [{"function": {"name": "search"}}]}, None),
        ("/v1/chat/completions", {"tools": []}, None),
        ("/v1/responses", {"tools": [{"type": "function", "name": "rm"}]}, "rm"),
        ("/v1/responses", {"tools": [{"type": "web_search"}]}, "web_search"),
        ("/v1/messages", {"tools": [{"name": "search"}, {"name": "rm"}]}, "rm"),
        ("/v1/messages", {"tools": [{"type": "web_search_1", "name": "search"}]}, None),
        ("/api/chat", {"tools": [{"type": "function", "function": {"name": "rm"}}]}, "rm"),
    ],
)
def test_only_allowed_tools(path: str, request_: object, expected: str | None) -> None:
    found = broken_limit(path.encode(), json.dumps(request_).encode(), RULE)
    assert found == (BrokenLimit(tool=expected) if expected else None)


def test_a_blocked_pattern_is_found_in_any_text() -> None:
    arguments = json.dumps({"q": "IGNORE all"})
    calls = [{"function": {"arguments": arguments}}]
    body = json.dumps({"messages": [{"content": "x", "tool_calls": calls}]}, indent=1)
    found = broken_limit(b"/v1/chat/completions", body.encode(), RULE)
    assert found == BrokenLimit(pattern=1)
    assert broken_limit(b"/v1/completions", b'{"prompt":"no"}', RULE) is None


def test_without_limits_nothing_is_read() -> None:
    assert broken_limit(b"/x", b"\xff", GuardRule()) is None


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "(", ""])
def test_a_pattern_that_cannot_be_linear_is_refused(pattern: str) -> None:
    with pytest.raises(FieldError, match="guard"):
        check_pattern(pattern, "guard.blocked_patterns[0]")
