"""Reading a few fields of bodies, and replacing the model with every other value untouched."""

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.wire.fields import (
    multipart_model,
    prompt_values,
    read_fields,
    replace_model,
    replace_multipart_model,
)

BOUNDARY = "xYzZY"
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def form(*parts: tuple[str, bytes]) -> bytes:
    """A multipart body of (headers, content)."""
    lines = [
        f"--{BOUNDARY}\r\n{headers}\r\n\r\n".encode() + content + b"\r\n"
        for headers, content in parts
    ]
    return b"".join(lines) + f"--{BOUNDARY}--\r\n".encode()


MODEL = 'Content-Disposition: form-data; name="model"'
FILE = 'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav'


@pytest.mark.parametrize(
    ("body", "model", "stream"),
    [
        (b'{"model":"m","stream":true}', "m", True),
        (b' \n{"model" : "m" , "stream" : false }', "m", False),
        (b'{"model":"m"}', "m", False),
        (b'{"model":"m","stream":null}', "m", False),
        (b'{"model":"m","stream":"true"}', "m", True),
        (b'{"model":"m","stream":1}', "m", True),
        (b'{"model":7,"stream":true}', None, True),
        (b'{"model":null}', None, False),
        (b'{"stream":true}', None, True),
        ('{"model":"모델"}'.encode(), "모델", False),
        (b'{"model":"m\\u0041"}', "mA", False),
    ],
)
def test_fields(body: bytes, model: str | None, stream: bool) -> None:
    fields = read_fields(body)
    assert (fields.model, bool(fields.stream)) == (model, stream)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[1]",
        b'"text"',
        b'{"model":"m"',
        b'{"model":"m","temperature":NaN}',
        b'\xef\xbb\xbf{"model":"m"}',
        b'{"model":"m","messages":' + b"[" * 100_000,
    ],
)
def test_what_cannot_be_read_gives_the_defaults(body: bytes) -> None:
    fields = read_fields(body)
    assert (fields.model, fields.stream) == (None, False)
    assert replace_model(body, "other") is None


def test_a_model_that_is_no_text_is_none() -> None:
    assert read_fields(b'{"model":"\xff","stream":true}').model is None
    assert replace_model(b'{"model":"\xff","n":1.0}', "m") == b'{"model":"m","n":1.0}'


@given(st.binary())
def test_any_bytes_are_survived(body: bytes) -> None:
    read_fields(body)
    prompt_values(body)
    replace_model(body, "m")
    multipart_model(body)
    replace_multipart_model(body, "m")


@given(st.dictionaries(st.text(), json_values, max_size=5), st.text(), st.booleans())
def test_a_replaced_model_leaves_the_rest(
    fields: dict[str, object], model: str, spaced: bool
) -> None:
    separators = (", ", " : ") if spaced else (",", ":")
    body = json.dumps(fields | {"model": "old"}, separators=separators).encode("utf-8")
    replaced = replace_model(body, model) if model.isprintable() else replace_model(body, "new")
    assert replaced is not None
    raw = msgspec.json.Decoder(dict[str, msgspec.Raw])
    before, after = raw.decode(body), raw.decode(replaced)
    assert list(after) == list(before)
    assert json.loads(bytes(after.pop("model"))) == (model if model.isprintable() else "new")
    before.pop("model")
    assert {k: bytes(v) for k, v in after.items()} == {k: bytes(v) for k, v in before.items()}


def test_values_keep_their_bytes() -> None:
    body = b'{"seed":18446744073709551615,"model":"a","temperature":1.10,"top_p":1e0,"x":"\\u00e9"}'
    assert replace_model(body, "b") == body.replace(b'"a"', b'"b"')


def test_a_body_without_a_model_gets_one() -> None:
    assert replace_model(b'{"prompt":"x"}', "b") == b'{"prompt":"x","model":"b"}'


@pytest.mark.parametrize("field", ["messages", "prompt", "input", "system", "text_input"])
def test_where_the_prompt_is(field: str) -> None:
    values = prompt_values(b'{"model":"m","%b":["a", 1]}' % field.encode())
    assert [bytes(value) for value in values] == [b'["a", 1]']


@pytest.mark.parametrize(
    "headers",
    [
        MODEL,
        "content-disposition: form-data; name=model",
        'CONTENT-DISPOSITION:form-data;name="model"',
        f"{MODEL}\r\nContent-Type: text/plain",
        f"Content-Type: text/plain\r\n{MODEL}",
    ],
)
def test_the_model_of_a_form(headers: str) -> None:
    sound = bytes(range(256)) * 1024
    for body in (
        form((headers, b"whisper-1"), (FILE, sound)),
        form((FILE, sound), (headers, b"whisper-1")),
        form(
            (FILE, b""), (headers, b"whisper-1"), ("Content-Disposition: form-data; name=x", b"y")
        ),
    ):
        assert multipart_model(body) == "whisper-1"
        assert replace_multipart_model(body, "다른") == body.replace(b"whisper-1", "다른".encode())


def test_a_form_without_a_model() -> None:
    named_like_it = 'Content-Disposition: form-data; name="file"; filename="model"'
    for body in (
        form((FILE, b"RIFF")),
        form((named_like_it, b"RIFF")),
        form(('Content-Disposition: form-data; name="model_x"', b"m")),
        b"",
    ):
        assert multipart_model(body) is None
        assert replace_multipart_model(body, "m") is None


@pytest.mark.parametrize(
    "line",
    [
        b"content-disposition: form-data; name=model\r\n",
        b"content-disposition:form-data;",
        b"content-disposition: form-data; name=model\r\n\r\n",
        b"content-disposition: form-data; " + b" " * 500,
    ],
)
def test_no_form_makes_the_search_slow(line: bytes) -> None:
    body = (line * 65_536)[:65_536]
    started_s = time.thread_time()
    assert multipart_model(body) is None
    assert time.thread_time() - started_s < 0.25
