"""Keys of proa.toml about engines' own APIs: what they lack, templates, names of fields."""

from pathlib import Path

import pytest

from proa.config.faults import ConfigFaults
from proa.config.load import LoadedConfig, load
from proa.domain.dialect import CHAT_TEMPLATES, PLAIN, ChatTemplate, TritonFields

ENGINE = '[[engines]]\nname = "main"\nurl = "http://10.0.0.10:8000"\n'


def loaded(directory: Path, text: str) -> LoadedConfig:
    file = directory / "proa.toml"
    file.write_text(text, encoding="utf-8")
    return load(file, environ={})


def test_an_engine_says_nothing_of_its_api_by_default(tmp_path: Path) -> None:
    (engine,) = loaded(tmp_path, ENGINE).gateway.engines
    assert engine.lacks is None
    assert engine.chat_template == "plain"
    assert engine.triton == TritonFields()


def test_everything_about_an_engines_api(tmp_path: Path) -> None:
    text = (
        ENGINE + 'lacks = ["/v1/messages"]\nchat_template = "chatml"\n'
        'triton = { text_input = "in", stop = "", extra = { exclude_input_in_output = true } }\n'
    )
    (engine,) = loaded(tmp_path, text).gateway.engines
    assert engine.lacks == ("/v1/messages",)
    assert engine.chat_template == "chatml"
    extra = (("exclude_input_in_output", True),)
    assert engine.triton == TritonFields(text_input="in", stop="", extra=extra)


def test_nothing_lacks_is_not_the_default(tmp_path: Path) -> None:
    assert loaded(tmp_path, ENGINE + "lacks = []\n").gateway.engines[0].lacks == ()


def test_a_models_template_goes_before_its_engines(tmp_path: Path) -> None:
    text = (
        ENGINE + '[[models]]\nname = "a"\nchat_template = "mine"\n'
        '[[models]]\nname = "b"\nquality = 2\n'
        '[[chat_templates]]\nname = "mine"\nuser = "<{content}>"\ngeneration = "!"\n'
    )
    settings = loaded(tmp_path, text).gateway
    mine = ChatTemplate(user="<{content}>", generation="!")
    assert settings.chat_template("a", "chatml") == mine
    assert settings.chat_template("b", "chatml") == CHAT_TEMPLATES["chatml"]
    assert settings.chat_template(None, "plain") == PLAIN
    assert settings.chat_template(None, "of an earlier configuration") == PLAIN
    assert [model.name for model in settings.routing.models] == ["b"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('lacks = ["/v1/embeddings"]', 'lacks[0] = "/v1/embeddings": accepted is one of /v1/chat'),
        ('chat_template = "chatm"', 'no template has this name; did you mean "chatml"?'),
        ('triton = { text_inptu = "x" }', "triton = {…}: accepted is a table of names, known are"),
        ("triton = { stop = 4 }", "accepted is a name as text for 'stop'"),
        ('triton = { text_output = "" }', "accepted is a name for 'text_output'"),
        ("triton = { extra = { a = [1] } }", "texts, numbers, true or false for 'extra'"),
        ('[[models]]\nname = "m"\nchat_template = "x"', "models[0].chat_template"),
        ('[[chat_templates]]\nname = "x"\nuser = "hi"', "a text with {content} in it, once"),
        ('[[chat_templates]]\nuser = "{content}"', "chat_templates[0].name is missing"),
        ('[[chat_templates]]\nname = "x"\nusr = ""', 'did you mean "user"?'),
        (2 * '[[chat_templates]]\nname = "x"\n', "has the same, each needs its own"),
        ("[chat_templates]\nname = 'x'", "an array of tables, each under [[chat_templates]]"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_accepted(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigFaults) as raised:
        loaded(tmp_path, f"{ENGINE}{text}\n")
    assert told in str(raised.value)
