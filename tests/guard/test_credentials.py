"""Secrets that open nothing."""

import base64
import json

import pytest
from tests.guard.examples import SCANNER, found

LETTERS = "Ab1" * 30


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "written",
    ["sk-" + LETTERS[:40], "sk-proj-" + LETTERS[:30], "AKIA" + "ABCD1234" * 2,
     "ghp_" + LETTERS[:36],
     "hf_" + LETTERS[:34], "github_pat_" + LETTERS[:30], "xoxb-1234567890-" + LETTERS[:10],
     "AIza" + LETTERS[:35], "glpat-" + LETTERS[:20], "gsk_" + LETTERS[:48]],
)  # fmt: skip
def test_keys(written: str) -> None:
    for around in ("{}", "키는 {}입니다", 'key = "{}"', "{}, "):
        assert found(around.format(written)) == [("api_key", written)]


def test_the_secret_half_of_a_key_of_aws() -> None:
    secret = LETTERS[:37] + "/+x"
    assert found(f"AWS_SECRET_ACCESS_KEY={secret}\n") == [("api_key", secret)]
    assert found(f'aws_secret_access_key = "{secret}"') == [("api_key", secret)]
    assert found(secret) == []


@pytest.mark.parametrize(
    "text",
    ["sk-", "sk-learn-is-a-library-of-models", "ghp_short", "task-" + LETTERS[:40], "AKIAabc",
     "disk-usage-of-the-server-in-percent"],
)  # fmt: skip
def test_no_keys(text: str) -> None:
    assert found(text) == []


def test_tokens_decode() -> None:
    token = f"{part({'alg': 'HS256'})}.{part({'sub': 'nobody'})}.{'a' * 43}"
    spans = [(one.type, one.start, one.end) for one in SCANNER.scan(f"Bearer {token} 끝")]
    assert spans == [("jwt", 7, 7 + len(token))]
    assert SCANNER.scan(f"{part({'no': 'algorithm'})}.{part({})}.{'a' * 43}") == []


def test_private_keys_from_begin_to_end() -> None:
    body = "\n".join(["QUJD" * 16] * 4)
    for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "):
        key = f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"
        spans = [(one.type, one.start, one.end) for one in SCANNER.scan(f"키\n{key}\n끝")]
        assert spans == [("private_key", 2, 2 + len(key))]
    open_key = f"-----BEGIN PRIVATE KEY-----\n{body}"
    assert SCANNER.scan(open_key)[0].end == len(open_key)
    assert SCANNER.scan("-----BEGIN PUBLIC KEY-----\nQUJD\n-----END PUBLIC KEY-----") == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("password=hunter2hunter2", "hunter2hunter2"),
        ('{"password": "hunter2!"}', "hunter2!"),
        ('{"password":"a,b;c(d"}', "a,b;c(d"),
        ("PASSWORD: qwerty12\n", "qwerty12"),
        ("비밀번호는 qwerty12입니다", "qwerty12"),
        ("비번: 1q2w3e4r!", "1q2w3e4r!"),
        ("passwd = 'letmein'", "letmein"),
        ("패스워드: abcd1234", "abcd1234"),
        ("pwd=letmein&user=a", "letmein&user=a"),
        ("password: letmein", "letmein"),
    ],
)
def test_passwords(text: str, written: str) -> None:
    assert found(text) == [("password", written)]


@pytest.mark.parametrize(
    "text",
    ["password=$PASSWORD", "password=${DB_PASSWORD}", 'password = os.environ["X"]',
     "password = None",
     "password=getpass.getpass()", "Password: must be long", "password=<your password>",
     "password: ********", '"password": "string"', "passwords are important", "비밀번호를 잊었어요",
     "비밀번호는 최소 8자 이상", "password: list[str]", "password = {{ secret }}"],
)  # fmt: skip
def test_no_passwords(text: str) -> None:
    assert found(text) == []
