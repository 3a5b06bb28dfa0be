"""What is read of a request's body."""

import pytest

from proa.domain.lengths import UNLIMITED
from proa.gateway.body import ask
from proa.wire.request_head import RequestHead
from proa.wire.surface import surface_of

PATH = "/v1/chat/completions"


@pytest.mark.parametrize(
    ("told", "limit"),
    [("300", 300), ("0", None), ("-1", None), ("null", None), (str(2**80), UNLIMITED)],
)
def test_a_limit_is_a_number_of_tokens(told: str, limit: int | None) -> None:
    head = RequestHead()
    head.path_text, head.target = PATH, PATH.encode()
    asked = ask(head, b'{"max_tokens": %s}' % told.encode(), surface_of(PATH.encode()))
    assert asked.max_tokens == limit
