"""Every text place of every API is searched, and nothing but the findings is rewritten."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guard.fake_scanner import FakeScanner

from proa.guard.json_text import UnreadableBody
from proa.guard.mask import mask
from proa.guard.policy import GuardRule
from proa.guard.tokens import TokenBook
from proa.guard.walk import Filtered, Searched, filtered, search, searching

PHONE = "010-1234-5678"
MASKED = mask("mobile_phone", PHONE)
MASK = GuardRule()
TOKEN = GuardRule(mode="token")
CHAT = b"/v1/chat/completions"


def run(
    path: bytes, body: bytes, rule: GuardRule = MASK, content_type: bytes = b"application/json"
) -> Filtered:
    return filtered(path, body, FakeScanner(), rule, TokenBook(rule.language), content_type)


PLACES: dict[bytes, list[str]] = {
    CHAT: [
        '{"messages":[{"role":"user","content":"%s"}]}',
        '{"messages":[{"role":"user","content":[{"type":"text","text":"a %s b"}]}]}',
        '{"messages":[{"role":"user","name":"%s","content":null}]}',
        '{"messages":[{"role":"tool","tool_call_id":"1","content":"%s"}]}',
        '{"messages":[{"role":"assistant","reasoning_content":"%s"}]}',
        '{"messages":[{"role":"assistant","refusal":"%s"}]}',
        '{"messages":[{"tool_calls":[{"function":{"arguments":"{\\"a\\":\\"%s\\"}"}}]}]}',
        '{"messages":[{"function_call":{"name":"f","arguments":"{\\"a\\":\\"%s\\"}"}}]}',
        '{"tools":[{"function":{"name":"f","description":"%s"}}]}',
        '{"tools":[{"function":{"parameters":{"properties":{"a":{"default":"%s"}}}}}]}',
        '{"user":"%s"}',
        '{"metadata":{"who":"%s"}}',
        '{"stop":["%s"]}',
        '{"documents":[{"text":"%s"}]}',
        '{"prediction":{"type":"content","content":"%s"}}',
        '{"chat_template_kwargs":{"who":"%s"}}',
        '{"a_field_of_tomorrow":[[{"x":["%s"]}]]}',
    ],
    b"/v1/completions": ['{"prompt":"%s"}', '{"prompt":["a","%s"]}', '{"suffix":"%s"}'],
    b"/v1/embeddings": ['{"input":"%s"}', '{"input":["%s"]}'],
    b"/v1/responses": [
        '{"input":"%s"}',
        '{"instructions":"%s"}',
        '{"input":[{"role":"user","content":"%s"}]}',
        '{"input":[{"role":"user","content":[{"type":"input_text","text":"%s"}]}]}',
        '{"input":[{"type":"function_call","arguments":"{\\"a\\":\\"%s\\"}"}]}',
        '{"input":[{"type":"function_call_output","call_id":"1","output":"%s"}]}',
        '{"input":[{"type":"function_call_output","output":[{"type":"input_text","text":"%s"}]}]}',
        '{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"%s"}]}]}',
        '{"prompt":{"id":"p","variables":{"who":"%s"}}}',
    ],
    b"/v1/rerank": ['{"query":"%s"}', '{"documents":["%s",{"text":"x"}]}'],
    b"/v1/score": ['{"text_1":"%s"}', '{"text_2":["%s"]}', '{"queries":"%s"}'],
    b"/v1/messages": [
        '{"system":"%s"}',
        '{"system":[{"type":"text","text":"%s"}]}',
        '{"messages":[{"role":"user","content":"%s"}]}',
        '{"messages":[{"content":[{"type":"text","text":"%s"}]}]}',
        '{"messages":[{"content":[{"type":"thinking","thinking":"%s","signature":"x"}]}]}',
        '{"messages":[{"content":[{"type":"tool_use","id":"1","name":"f","input":{"a":["%s"]}}]}]}',
        '{"messages":[{"content":[{"type":"tool_result","tool_use_id":"1","content":"%s"}]}]}',
        '{"messages":[{"content":[{"type":"tool_result","content":[{"type":"text","text":"%s"}]}]}]}',
        '{"messages":[{"content":[{"type":"document","title":"%s","source":{"type":"url"}}]}]}',
        '{"messages":[{"content":[{"type":"document","source":{"type":"text","data":"a %s"}}]}]}',
        '{"tools":[{"name":"f","description":"%s"}]}',
        '{"metadata":{"user_id":"%s"}}',
    ],
    b"/v1/messages/count_tokens": ['{"system":"%s","messages":[]}'],
    b"/tokenize": ['{"prompt":"%s"}', '{"content":"%s"}', '{"messages":[{"content":"%s"}]}'],
    b"/detokenize": ['{"tokens":[1,2],"note":"%s"}'],
    b"/api/chat": [
        '{"messages":[{"role":"user","content":"%s"}]}',
        '{"messages":[{"role":"assistant","thinking":"%s"}]}',
        '{"messages":[{"tool_calls":[{"function":{"name":"f","arguments":{"a":"%s"}}}]}]}',
    ],
    b"/api/generate": ['{"prompt":"%s"}', '{"system":"%s"}', '{"suffix":"%s"}'],
    b"/api/embed": ['{"input":"%s"}', '{"input":["%s"]}'],
    b"/api/embeddings": ['{"prompt":"%s"}'],
    b"/api/create": ['{"model":"m","system":"%s"}'],
    b"/v1/audio/speech": ['{"input":"%s"}', '{"instructions":"%s"}'],
    b"/v2/models/m/generate": ['{"text_input":"%s"}', '{"parameters":{"system":"%s"}}'],
    b"/v2/models/m/infer": ['{"inputs":[{"name":"x","datatype":"BYTES","data":[["%s"]]}]}'],
    b"/v2/anything": ['{"a":"%s"}'],
    b"/v1/images/generations": ['{"prompt":"%s"}'],
    b"/v1/moderations": ['{"input":["%s"]}'],
    b"/generate": ['{"inputs":"%s"}', '["%s"]', '"%s"', '{"text":{"deep":[["%s"]]}}'],
}


@pytest.mark.parametrize(
    ("path", "body"), [(path, body) for path, bodies in PLACES.items() for body in bodies]
)
def test_a_text_place_is_searched(path: bytes, body: str) -> None:
    result = run(path, (body % PHONE).encode())
    assert result.body == (body % MASKED).encode()
    assert result.findings_count == {"mobile_phone": 1}


@pytest.mark.parametrize(
    "body",
    [
        '{"model":"%s"}',
        '{"messages":[{"tool_call_id":"%s"}]}',
        '{"messages":[{"tool_calls":[{"id":"%s"}]}]}',
        '{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://a/%s.png"}}]}]}',
        '{"messages":[{"content":"data:image/png;base64,aGVsbG8="}],"model":"%s"}',
        '{"kv_transfer_params":{"remote_host":"%s"}}',
    ],
)
def test_names_ids_and_switches_stay(body: str) -> None:
    raw = (body % PHONE).encode()
    assert run(CHAT, raw).body is raw


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (r'{"a" : "\ud83d\ude00\n%s\u0041\"" , "n":9007199254740993}', None),
        (r'{"a":"\u0030\u00310-1234-5678!"}', r'{"a":"%s!"}'),
        (r'{"a":"\\%s\\"}', None),
        ('{"z":1.10,\n\t"a":"한글 %s로","b":1e3 }', None),
        (r'{"\u0061":"%s"}', None),
    ],
)
def test_only_the_span_changes(raw: str, expected: str | None) -> None:
    body = raw.replace("%s", PHONE).encode()
    assert run(b"/x", body).body == (expected or raw).replace("%s", MASKED).encode()


def test_a_number_in_a_tools_input_becomes_a_string() -> None:
    body = b'{"messages":[{"content":[{"input":{"id":[9001011234567, 9007199254740993]}}]}],"n":%b}'
    body %= b"9001011234567"
    masked = mask("resident_number", "9001011234567").encode()
    result = run(b"/v1/messages", body)
    assert result.body == body.replace(b"[9001011234567", b'["%b"' % masked)


def test_a_number_in_arguments_becomes_a_string() -> None:
    body = rb'{"messages":[{"tool_calls":[{"function":{"arguments":"{\"id\":9001011234567}"}}]}]}'
    masked = mask("resident_number", "9001011234567").encode()
    assert run(CHAT, body).body == body.replace(b"9001011234567", rb"\"%b\"" % masked)


def test_arguments_that_are_json_in_json_stay_json() -> None:
    arguments = json.dumps({"이름": "김", "전화": f"{PHONE}\n", "t": "탭\t"})
    body = json.dumps({"messages": [{"tool_calls": [{"function": {"arguments": arguments}}]}]})
    result = json.loads(run(CHAT, body.encode(), TOKEN).body)
    told = result["messages"][0]["tool_calls"][0]["function"]["arguments"]
    assert told == arguments.replace(PHONE, "[전화_1]")


def test_a_key_of_a_tools_input_is_searched() -> None:
    body = json.dumps({"messages": [{"content": [{"input": {PHONE: 1}}]}]}).encode()
    assert run(b"/v1/messages", body).body == body.replace(PHONE.encode(), MASKED.encode())


@pytest.mark.parametrize(
    "body",
    [
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":NaN}',
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b'{"a":1,"a":2}',
        b'{"b":[{"a":1,"\\u0061":2}]}',
        b'{"a":1} {"a":1}',
        b"[" * 200_000 + b"]" * 200_000,
        b"not json",
        b'{"a":"\x00"}',
        b'{"a":',
    ],
)
def test_what_cannot_be_read_is_refused_without_a_word_of_it(body: bytes) -> None:
    with pytest.raises(UnreadableBody) as refused:
        run(CHAT, body)
    assert str(refused.value).startswith(("the body ", "a key ", "a string "))


def test_block_names_the_type_and_off_does_not_count() -> None:
    body = json.dumps({"prompt": f"{PHONE} 900101-1234567 a.b@c.kr"}).encode()
    rule = GuardRule(modes={"resident_number": "block", "email": "off"})
    result = run(b"/v1/completions", body, rule)
    assert result.blocked == "resident_number"
    assert result.findings_count == {"mobile_phone": 1, "resident_number": 1}


def test_counting_changes_nothing() -> None:
    body = json.dumps({"prompt": PHONE}).encode()
    result = run(b"/v1/completions", body, GuardRule(mode="count"))
    assert result.body is body
    assert result.findings_count == {"mobile_phone": 1}


def test_tokens_are_stable_and_restore() -> None:
    body = json.dumps({"messages": [{"content": f"{PHONE}, 010-9999-8888"}, {"content": PHONE}]})
    book = TokenBook("ko")
    result = filtered(CHAT, body.encode(), FakeScanner(), TOKEN, book)
    told = json.loads(result.body)["messages"]
    assert [message["content"] for message in told] == ["[전화_1], [전화_2]", "[전화_1]"]
    assert book.restore("그 번호는 [전화_1] [전화_3]") == f"그 번호는 {PHONE} [전화_3]"


def test_a_token_that_the_user_typed_stays_his() -> None:
    body = json.dumps({"prompt": f"[전화_1] {PHONE}"}).encode()
    book = TokenBook("ko")
    result = filtered(b"/v1/completions", body, FakeScanner(), TOKEN, book)
    assert json.loads(result.body)["prompt"] == "[전화_1] [전화_2]"
    assert book.restore("[전화_1]=[전화_2]") == f"[전화_1]={PHONE}"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}},
        {"type": "input_audio", "input_audio": {"data": "QUJD" * 40, "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "file", "file": {"file_id": "f"}},
    ],
)
def test_media_may_be_refused(part: object) -> None:
    body = json.dumps({"messages": [{"content": [part]}]}).encode()
    assert run(CHAT, body, GuardRule(media="block")).is_media_blocked
    assert not run(CHAT, body).is_media_blocked


def form(*parts: tuple[str, bytes]) -> bytes:
    fields = b"".join(b"--B\r\n%b\r\n\r\n%b\r\n" % (head.encode(), value) for head, value in parts)
    return fields + b"--B--\r\n"


def test_a_form_has_texts_and_media() -> None:
    audio = bytes(range(256))
    body = form(
        ('Content-Disposition: form-data; name="file"; filename="a.wav"', audio),
        ('Content-Disposition: form-data; name="prompt"', f"한글 {PHONE}에".encode()),
        ('Content-Disposition: form-data; name="model"', PHONE.encode()),
    )
    kind = b"multipart/form-data; boundary=B"
    result = run(b"/v1/audio/transcriptions", body, GuardRule(media="block"), kind)
    expected = body.replace(f"한글 {PHONE}".encode(), f"한글 {MASKED}".encode())
    assert result.body == expected
    assert result.is_media_blocked


@pytest.mark.parametrize("body", [b"--B\r\n", b"", b"junk", b"--B\r\na: b\r\n\r\nx"])
def test_a_broken_form_is_refused(body: bytes) -> None:
    if not body:
        assert run(b"/v1/audio/x", body, MASK, b"multipart/form-data; boundary=B").body == b""
        return
    with pytest.raises(UnreadableBody):
        run(b"/v1/audio/x", body, MASK, b"multipart/form-data; boundary=B")


def test_a_plain_text_is_searched_as_it_is() -> None:
    result = run(b"/x", f"전화 {PHONE}".encode(), MASK, b"text/plain; charset=utf-8")
    assert result.body == f"전화 {MASKED}".encode()


def test_a_models_file_is_no_text() -> None:
    assert run(b"/api/blobs/sha256:1", b"\xff\x00", MASK, b"").body == b"\xff\x00"


def test_a_long_text_is_searched_in_slices() -> None:
    body = json.dumps({"prompt": "가" * 200_000 + PHONE, "b": [PHONE] * 3}).encode()
    work = searching(b"/v1/completions", body, FakeScanner())
    turns = 0
    searched: Searched | None = None
    while searched is None:
        try:
            next(work)
            turns += 1
        except StopIteration as ended:
            searched = ended.value
    assert turns >= 3
    assert searched.counts == {"mobile_phone": 4}


def test_nothing_raw_in_what_is_printed() -> None:
    body = json.dumps({"prompt": PHONE}).encode()
    book = TokenBook("ko")
    searched = search(b"/v1/completions", body, FakeScanner())
    result = searched.acted(TOKEN, book)
    hits = [repr(hit) for hit in searched._hits]
    assert PHONE not in f"{searched!r}{result!r}{book!r}{hits}"


TEXTS = st.text(st.characters(exclude_characters="0123456789@[", exclude_categories=["Cs"]))
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXTS | st.just(PHONE)
    | TEXTS.map(lambda text: f"{text} {PHONE} {text}"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_the_rest_of_any_json_is_byte_for_byte_the_same(
    document: object, is_ascii: bool, indent: int | str | None
) -> None:
    body = json.dumps(document, ensure_ascii=is_ascii, indent=indent).encode()
    result = run(b"/any", body)
    assert result.body == body.replace(PHONE.encode(), MASKED.encode())


@given(DOCUMENTS, st.booleans())
def test_tokens_restored_are_what_was_there(document: object, is_ascii: bool) -> None:
    body = json.dumps({"input": document}, ensure_ascii=is_ascii).encode()
    book = TokenBook("ko")
    result = filtered(b"/v1/responses", body, FakeScanner(), TOKEN, book)
    assert PHONE.encode() not in result.body
    assert book.restore(result.body.decode()) == body.decode()


@given(DOCUMENTS)
def test_json_in_json_keeps_its_rest(document: object) -> None:
    arguments = json.dumps(document)
    body = json.dumps({"messages": [{"tool_calls": [{"function": {"arguments": arguments}}]}]})
    result = json.loads(run(CHAT, body.encode()).body)
    told = result["messages"][0]["tool_calls"][0]["function"]["arguments"]
    assert told == arguments.replace(PHONE, MASKED)
