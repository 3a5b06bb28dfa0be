"""Four bytes are a token."""

from proa.emulator.prompt import (
    Message,
    Part,
    count_tokens,
    prefix_hashes,
    rendered_chat,
    rendered_prompt,
)
from proa.emulator.words import WORD_BYTES, WORDS, Words


def test_four_bytes_are_a_token() -> None:
    assert [count_tokens(b"x" * n) for n in (0, 1, 4, 5)] == [1, 1, 1, 2]


def test_a_chat_is_counted_with_its_roles_and_parts() -> None:
    plain = rendered_chat([Message("user", "hello"), Message("assistant", None)])
    assert plain == b"<|user|>hello<|assistant|>"
    assert rendered_chat([Message("user", [Part("he"), Part("llo")])]) == b"<|user|>hello"


def test_token_ids_are_counted_exactly() -> None:
    assert count_tokens(rendered_prompt([7] * 123)) == 123
    assert rendered_prompt("한국") == "한국".encode()


def test_prompts_with_the_same_beginning_have_the_same_first_hashes() -> None:
    one = prefix_hashes(b"a" * 64 + b"b" * 64 + b"rest", block_tokens=16)
    two = prefix_hashes(b"a" * 64 + b"c" * 64 + b"b" * 64, block_tokens=16)
    assert [len(one), len(two)] == [2, 3]
    assert one[0] == two[0]
    assert not set(one[1:]) & set(two[1:])


def test_another_adapter_has_another_cache() -> None:
    assert prefix_hashes(b"a" * 64, block_tokens=16) != prefix_hashes(
        b"a" * 64, block_tokens=16, adapter="x"
    )


def test_generated_words_count_as_they_were_generated() -> None:
    assert {len(word) for word in WORDS} == {WORD_BYTES}
    assert count_tokens(Words(b"prompt", 0).text(57).encode()) == 57


def test_seed_and_prompt_decide_the_words() -> None:
    texts = {Words(prompt, seed).text(8) for prompt in (b"a", b"b") for seed in (0, 1)}
    assert len(texts) == 4
    assert Words(b"a", 0).text(8) == Words(b"a", 0).text(8)


def test_an_answer_uses_all_words_before_one_comes_again() -> None:
    words = Words(b"any", 3)
    assert len({words.word(number) for number in range(1, len(WORDS) + 1)}) == len(WORDS)
