"""What is accepted and remarked upon."""

import pytest

from proa.config.document import parse_document
from proa.config.remarks import remarks

ENGINE = '[[engines]]\nname = "a"\nurl = "http://h:1"\n'


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", []),
        (
            '[[routes]]\nname = "r"\n[[routes]]\nname = "s"\n',
            ["p:6: routes[1] is never reached: routes[0] takes all requests"],
        ),
        ('[[routes]]\nname = "r"\nmatch = { path = "/a" }\n[[routes]]\nname = "s"\n', []),
        (
            '[[engines]]\nname = "b"\nurl = "http://h:1/"\n',
            ['p:6: engines[1].url = "http://h:1": engines[0] has the same: it counts as two'],
        ),
        ('[[engines]]\nname = "b"\nurl = "http://h:2"\ngpu = "rtx-5060-ti-16gb"\n', []),
    ],
)
def test_remarks(more: str, told: list[str]) -> None:
    document = parse_document("p", ENGINE + more)
    assert [str(remark) for remark in remarks(document)] == told


def test_an_unknown_gpu_has_near_ones() -> None:
    (remark,) = remarks(parse_document("p", ENGINE + 'gpu = "rtx-6000-96gb"\n'))
    assert str(remark).startswith(
        'p:4: engines[0].gpu = "rtx-6000-96gb": no speed is known of it before it serves; known '
    )
    assert "rtx-pro-6000-96gb" in remark.accepted
