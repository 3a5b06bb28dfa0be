"""Which `model_type` is what: the families that differ from a plain Llama, and those known."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KNOWN_KINDS = _words(
    """
    apertus arcee axk1 baichuan bailing_moe chatglm cohere cohere2 deepseek deepseek_v2
    deepseek_v3 deepseek_v32 deepseek_v4 dots1 ernie4_5 ernie4_5_moe exaone exaone4 exaone4_5
    exaone_moe falcon gemma gemma2 gemma3 gemma3n gemma4 glm glm4 glm4_moe glm4_moe_lite glm4v
    glm4v_moe glm_moe_dsa gpt_neox gpt_oss granite granitemoe granitemoehybrid
    granitemoeshared hunyuan hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax internlm2
    internlm3 jamba kimi_k2 kimi_k25 kimi_linear kimi_vl llama llama4 llava llava_next mimo
    mimo_v2 mimo_v2_flash minicpm minicpm3 minimax minimax_m1 minimax_m2 minimax_m3
    minimax_m3_vl ministral ministral3 mistral mistral3 mistral4 mixtral mllama nemotron
    nemotron-nas nemotron_h olmo olmo2 olmo3 olmoe opt phi phi3 phimoe qwen2 qwen2_5_vl
    qwen2_moe qwen2_vl qwen3 qwen3_5 qwen3_5_moe qwen3_moe qwen3_next qwen3_vl qwen3_vl_moe
    sarvam_mla sarvam_moe seed_oss smollm3 solar_open stablelm starcoder2 step3_text step3p5
    step3p7 yi
    """
)
"""Families whose weights were checked against, or are plainly described by, their config.json."""

TWO_MATRICES = _words(
    "apertus arcee bloom falcon gpt2 gpt_bigcode gpt_neox mpt nemotron nemotron_h opt phi "
    "starcoder2"
)
"""Families whose feed-forward has no gate."""

QUERY_KEY_NORM = _words(
    "apertus dots1 exaone4 exaone_moe gemma3 gemma3n gemma4 hunyuan_v1_dense hunyuan_v1_moe hy_v3 "
    "olmo2 olmo3 olmoe qwen3 qwen3_moe qwen3_next qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe "
    "step3p5 step3p7"
)
"""Families that norm Q and K without saying so in their config.json."""

BIASED = _words("qwen2 qwen2_moe qwen2_vl qwen2_5_vl phi starcoder2 glm4v chatglm")
"""Families whose Q, K and V have a bias without saying so."""
