"""Names of models beside the one that the gateway reads."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.wire.other_names import other_names

FORM = (
    b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\none\r\n'
    b"--b\r\ncontent-type: text/plain\r\ncontent-disposition: form-data; name=model\r\n\r\ntwo\r\n"
    b'--b\r\ncontent-disposition: form-data; name="file"; filename="model"\r\n\r\nthree\r\n--b--'
)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'{"model":"a"}', []),
        (b'{"model":"a","model":"b"}', []),  # all take the last, as the gateway does
        (b'{"model":"a","Model":"b","m\\u004fdel":"c"}', ["b", "c"]),
        (b'{"lora_path":"x","adapter_id":"","lora":[],"lora_id":0}', ["x"]),
        (b'{"lora":[{"id":1}]}', ['[{"id":1}]']),
        (b'{"lora_path":["x",null]}', ['["x",null]']),
        (b'{"parameters":{"adapter_id":"y","top_k":1},"model":"a"}', ["y"]),
        (b'{"parameters":[1]}', []),
        (b"[1]", []),
        (b"", []),
        (b'{"a":', []),
        (FORM, ["one", "two"]),
    ],
)
def test_names_beside_the_model(body: bytes, names: list[str]) -> None:
    assert other_names(body) == names


@given(st.binary(max_size=200))
def test_any_bytes_are_read(body: bytes) -> None:
    assert isinstance(other_names(body), list)
    assert other_names(b'{"model":1,"x":' + json.dumps(body.hex()).encode() + b"}") == []
