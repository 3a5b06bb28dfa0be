"""Whose log is it, and what is none."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.errors import InputError
from proa.planner.boot_log.read import read_boot_log

VLLM = (
    "INFO vLLM API server version 0.11.0\nINFO Available KV cache memory: 5.50 GiB\n"
    "INFO GPU KV cache size: 1,600 tokens\n"
    "INFO Maximum concurrency for 8,192 tokens per request: 0.20x\n"
)


@pytest.mark.parametrize(
    "text", ["", "hello\n", "\0" * 1000, '{"log": "nothing of an engine"}', "GiB blocks tokens"]
)
def test_what_is_no_log_is_refused_with_what_was_looked_for(text: str) -> None:
    with pytest.raises(InputError, match=r"x\.log: no start-up log") as caught:
        read_boot_log(text, name="x.log")
    for word in ("vLLM", "SGLang", "llama.cpp", "KV cache size"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("INFO vLLM API server version 0.11.0\nTraceback (most recent call last):\n", "vllm"),
        ("[2026-01-01 00:00:00] Load weight begin. avail mem=78.00 GB\n", "sglang"),
        ("srv  llama_server: initializing ...\nsrv  llama_server: model loaded\n", "llamacpp"),
    ],
)
def test_a_start_that_did_not_get_there_is_named(text: str, engine: str) -> None:
    with pytest.raises(InputError, match=rf"x\.log: a log of {engine} without the size"):
        read_boot_log(text, name="x.log")


def test_a_long_log_is_read_by_its_telling_lines() -> None:
    served = 'INFO:     127.0.0.1:42816 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    boot = read_boot_log(served * 20_000 + VLLM + served * 20_000, name="x.log")
    assert (boot.kv_cache_tokens, boot.engine_version) == (1600, "0.11.0")


@given(st.integers(0, len(VLLM)), st.randoms(use_true_random=False))
def test_garbage_is_read_or_refused_and_never_crashes(cut: int, chance: Random) -> None:
    broken = list(VLLM[:cut])
    for _ in range(5):
        if broken:
            broken[chance.randrange(len(broken))] = chance.choice("0.,x{}()\n\x1b[=é")
    try:
        boot = read_boot_log("".join(broken), name="x.log")
    except InputError:
        return
    assert boot.kv_cache_tokens is not None or boot.kv_cache_bytes is not None
