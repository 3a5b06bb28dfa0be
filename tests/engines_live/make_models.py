"""Makes the models of the live tests: a tiny Llama with random weights, and a LoRA adapter for it.

    .engines/vllm/bin/python tests/engines_live/make_models.py MODEL.gguf .engines/models

Runs in vLLM's environment, which has torch and transformers. The tokenizer and the chat
template are those in the GGUF file; the text that the model writes means nothing.
Afterwards the directory holds `tiny` and `tiny-lora`, in the format of Hugging Face.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

HIDDEN = 128
LAYERS = 4
HEADS = 4
KV_HEADS = 2
HEAD_DIM = 32
MAX_TOKENS = 2048
LORA_RANK = 8
LORA_TARGETS = {"q_proj": HEADS * HEAD_DIM, "v_proj": KV_HEADS * HEAD_DIM}  # name: width out


def make_model(gguf: Path, directory: Path) -> None:
    """2 × layers × KV heads × head_dim × 2 bytes = 1024 bytes of KV cache per token."""
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        max_position_embeddings=MAX_TOKENS,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        dtype="bfloat16",
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def make_adapter(directory: Path) -> None:
    """Large enough to change what the model writes."""
    weights = {}
    for layer in range(LAYERS):
        for target, width in LORA_TARGETS.items():
            base = f"base_model.model.model.layers.{layer}.self_attn.{target}"
            weights[f"{base}.lora_A.weight"] = torch.randn(LORA_RANK, HIDDEN) * 0.5
            weights[f"{base}.lora_B.weight"] = torch.randn(width, LORA_RANK) * 0.5
    directory.mkdir()
    save_file(weights, directory / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": "tiny",
        "r": LORA_RANK,
        "lora_alpha": 2 * LORA_RANK,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": list(LORA_TARGETS),
    }
    (directory / "adapter_config.json").write_text(json.dumps(config))


def main() -> None:
    gguf, models = map(Path, sys.argv[1:])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    make_model(gguf, models / "tiny")
    make_adapter(models / "tiny-lora")


if __name__ == "__main__":
    main()
