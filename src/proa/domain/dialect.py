"""How one engine's own API differs from its neighbours': prompts as text, names of fields."""

import msgspec


class ChatTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """How a chat becomes the one text that a completion engine reads.

    The prompt is `begin`, each message in its role's form with `{content}` replaced, and
    `generation`, after which the model writes.
    """

    begin: str = ""
    system: str = "{content}\n\n"
    user: str = "User: {content}\n"
    assistant: str = "Assistant: {content}\n"
    generation: str = "Assistant:"


PLAIN = ChatTemplate()
CHAT_TEMPLATES: dict[str, ChatTemplate] = {
    "plain": PLAIN,
    "chatml": ChatTemplate(
        system="<|im_start|>system\n{content}<|im_end|>\n",
        user="<|im_start|>user\n{content}<|im_end|>\n",
        assistant="<|im_start|>assistant\n{content}<|im_end|>\n",
        generation="<|im_start|>assistant\n",
    ),
    "llama3": ChatTemplate(
        begin="<|begin_of_text|>",
        system="<|start_header_id|>system<|end_header_id|>\n\n{content}<|eot_id|>",
        user="<|start_header_id|>user<|end_header_id|>\n\n{content}<|eot_id|>",
        assistant="<|start_header_id|>assistant<|end_header_id|>\n\n{content}<|eot_id|>",
        generation="<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
}

Scalar = str | bool | int | float


class TritonFields(msgspec.Struct, frozen=True, kw_only=True):
    """What a Triton model calls its inputs and outputs; "" where it has no such input.

    The defaults are those of the TensorRT-LLM backend. `extra` is sent with every
    request, before what the client asked for.
    """

    text_input: str = "text_input"
    text_output: str = "text_output"
    stream: str = "stream"
    max_tokens: str = "max_tokens"
    temperature: str = "temperature"
    top_p: str = "top_p"
    top_k: str = "top_k"
    seed: str = "seed"
    stop: str = "stop_words"
    repetition_penalty: str = "repetition_penalty"
    presence_penalty: str = "presence_penalty"
    frequency_penalty: str = "frequency_penalty"
    extra: tuple[tuple[str, Scalar], ...] = ()
