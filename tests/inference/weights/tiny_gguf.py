"""A GGUF file of a few kilobytes, made as llama.cpp makes them."""

from pathlib import Path

import numpy as np
from gguf import GGUFWriter

WORDS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *"0123456789abcdefghijklmnopqrstuvwxyzĠ", "ĠĠ"]


def write_tiny_gguf(path: Path) -> None:
    """A Llama of one layer and 16 dimensions with SmolLM2's kind of tokenizer."""
    gguf = GGUFWriter(path, "llama")
    gguf.add_name("tiny")
    gguf.add_context_length(32)
    gguf.add_embedding_length(16)
    gguf.add_block_count(1)
    gguf.add_feed_forward_length(24)
    gguf.add_head_count(2)
    gguf.add_head_count_kv(1)
    gguf.add_layer_norm_rms_eps(1e-5)
    gguf.add_rope_freq_base(1e4)
    gguf.add_vocab_size(len(WORDS))
    gguf.add_tokenizer_model("gpt2")
    gguf.add_tokenizer_pre("smollm")
    gguf.add_token_list(WORDS)
    gguf.add_token_types([3, 3, 3] + [1] * (len(WORDS) - 3))
    gguf.add_token_merges(["Ġ Ġ"])
    gguf.add_bos_token_id(1)
    gguf.add_eos_token_id(2)
    gguf.add_unk_token_id(0)
    gguf.add_pad_token_id(2)
    gguf.add_chat_template("{{ messages[0]['content'] }}")
    shapes = {
        "token_embd": (len(WORDS), 16),
        "output_norm": (16,),
        "blk.0.attn_norm": (16,),
        "blk.0.attn_q": (16, 16),
        "blk.0.attn_k": (8, 16),
        "blk.0.attn_v": (8, 16),
        "blk.0.attn_output": (16, 16),
        "blk.0.ffn_norm": (16,),
        "blk.0.ffn_gate": (24, 16),
        "blk.0.ffn_up": (24, 16),
        "blk.0.ffn_down": (16, 24),
    }
    rng = np.random.default_rng(0)
    for name, shape in shapes.items():
        gguf.add_tensor(f"{name}.weight", rng.normal(size=shape).astype(np.float32))
    gguf.write_header_to_file()
    gguf.write_kv_data_to_file()
    gguf.write_tensors_to_file()
    gguf.close()
