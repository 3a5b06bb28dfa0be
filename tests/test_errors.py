"""The error tree's exit codes, and the bodies that API clients must be able to read."""

import json

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa import errors

STATUSES = sorted(errors.API_ERRORS)


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (errors.OwnFault("lost"), 1),
        (errors.InputError("bad"), 2),
        (errors.ConfigError("proa.toml", "gateway.workers", 0, "1 or more"), 2),
        (errors.UpstreamError("engine gone"), 3),
        (errors.PromiseError("p95 over the limit"), 4),
    ],
)
def test_each_fault_has_its_exit_code(error: errors.ProaError, exit_code: int) -> None:
    assert isinstance(error, errors.ProaError)
    assert error.exit_code == exit_code


def test_a_config_error_names_file_key_value_and_what_is_accepted() -> None:
    error = errors.ConfigError(
        "proa.toml", "engines[1].url", "ftp://a", "http://, https:// or unix:"
    )
    assert str(error) == (
        "proa.toml: engines[1].url = 'ftp://a': accepted is http://, https:// or unix:"
    )
    assert (error.file, error.key, error.value) == ("proa.toml", "engines[1].url", "ftp://a")


@pytest.mark.parametrize("status", STATUSES)
def test_table_rows_are_filed_under_their_status(status: int) -> None:
    assert errors.API_ERRORS[status].status == status


@given(status=st.sampled_from(STATUSES), message=st.text())
def test_openai_body_keeps_message_and_shape(status: int, message: str) -> None:
    row = errors.API_ERRORS[status]
    assert json.loads(errors.openai_error_body(status, message)) == {
        "error": {"message": message, "type": row.type, "param": None, "code": row.code}
    }


def test_openai_code_can_be_more_exact_than_the_table() -> None:
    body = json.loads(errors.openai_error_body(503, "no engine", code="no_engine"))
    assert body["error"]["code"] == "no_engine"
    assert body["error"]["type"] == "overloaded_error"


@given(status=st.sampled_from(STATUSES), message=st.text())
def test_anthropic_body_keeps_message_and_shape(status: int, message: str) -> None:
    assert json.loads(errors.anthropic_error_body(status, message)) == {
        "type": "error",
        "error": {"type": errors.API_ERRORS[status].anthropic_type, "message": message},
    }


def test_ollama_body_is_a_bare_message() -> None:
    assert json.loads(errors.ollama_error_body("모델이 없습니다")) == {"error": "모델이 없습니다"}


@pytest.mark.parametrize(("status", "like"), [(418, 400), (499, 400), (507, 500), (599, 500)])
def test_a_status_outside_the_table_is_told_as_its_class(status: int, like: int) -> None:
    assert errors.api_error(status) is errors.API_ERRORS[like]


def test_the_openai_client_reads_type_and_code() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        status = int(request.headers["x-want"])
        return httpx2.Response(status, content=errors.openai_error_body(status, "why"))

    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = openai.OpenAI(api_key="k", max_retries=0, http_client=http_client)
    for status, row in errors.API_ERRORS.items():
        with pytest.raises(openai.APIStatusError) as caught:
            client.models.list(extra_headers={"x-want": str(status)})
        assert caught.value.status_code == status
        assert (caught.value.type, caught.value.code) == (row.type, row.code)


def test_the_anthropic_client_reads_type_and_message() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        status = int(request.headers["x-want"])
        return httpx2.Response(status, content=errors.anthropic_error_body(status, "why"))

    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = anthropic.Anthropic(api_key="k", max_retries=0, http_client=http_client)
    for status, row in errors.API_ERRORS.items():
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.models.list(extra_headers={"x-want": str(status)})
        assert caught.value.status_code == status
        assert caught.value.body == {
            "type": "error",
            "error": {"type": row.anthropic_type, "message": "why"},
        }
