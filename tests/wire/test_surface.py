"""Paths to APIs."""

import pytest

from proa.wire.surface import Api, ModelPlace, surface_of, triton_model


@pytest.mark.parametrize(
    ("path", "api", "place"),
    [
        ("/v1/chat/completions", Api.OPENAI, ModelPlace.BODY),
        ("/v1/completions", Api.OPENAI, ModelPlace.BODY),
        ("/v1/embeddings", Api.OPENAI, ModelPlace.BODY),
        ("/v1/responses", Api.RESPONSES, ModelPlace.BODY),
        ("/v1/rerank", Api.OPENAI, ModelPlace.BODY),
        ("/v1/score", Api.OPENAI, ModelPlace.BODY),
        ("/v1/messages", Api.ANTHROPIC, ModelPlace.BODY),
        ("/v1/messages/count_tokens", Api.ANTHROPIC, ModelPlace.BODY),
        ("/tokenize", Api.OPENAI, ModelPlace.BODY),
        ("/v1/audio/transcriptions", Api.OPENAI, ModelPlace.MULTIPART),
        ("/v1/audio/speech", Api.OPENAI, ModelPlace.MULTIPART),
        ("/v1/other", Api.OPENAI, ModelPlace.BODY),
        ("/v2/models/m/infer", Api.TRITON, ModelPlace.PATH),
        ("/v2/models/m/generate_stream", Api.TRITON, ModelPlace.PATH),
        ("/v2", Api.OTHER, ModelPlace.BODY),
        ("/v2/health/ready", Api.TRITON, ModelPlace.BODY),
        ("/api/chat", Api.OLLAMA, ModelPlace.BODY),
        ("/api/pull", Api.OLLAMA, ModelPlace.BODY),
        ("/generate", Api.OTHER, ModelPlace.BODY),
        ("/", Api.OTHER, ModelPlace.BODY),
    ],
)
def test_surfaces(path: str, api: Api, place: ModelPlace) -> None:
    surface = surface_of(path.encode())
    assert (surface.api, surface.model_place) == (api, place)


def test_only_apis_with_a_mark_of_the_end_have_one() -> None:
    assert b"data: [DONE]" in surface_of(b"/v1/chat/completions").end_marks
    assert b'"type":"message_stop' in surface_of(b"/v1/messages").end_marks
    assert surface_of(b"/v2/models/m/generate_stream").end_marks == ()
    assert surface_of(b"/generate").end_marks == ()


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v2/models/llm/infer", "llm"),
        ("/v2/models/llm", "llm"),
        ("/v2/models/llm/versions/2/infer", "llm"),
        ("/v2/models/stats", None),
        ("/v2/models/", None),
    ],
)
def test_the_model_in_tritons_path(path: str, model: str | None) -> None:
    assert triton_model(path.encode()) == model
