"""Models with random weights: real shapes and real timing, noise for text. No download."""

from copy import deepcopy
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from inference.catalogue import models as catalogue_models

PREFIX = "random:"
_TINY = LlamaConfig(
    num_hidden_layers=2,
    hidden_size=32,
    intermediate_size=64,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    vocab_size=320,
    max_position_embeddings=512,
    tie_word_embeddings=True,
)
_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def build(shape: str, *, dtype: torch.dtype, device: torch.device) -> tuple[Any, Any]:
    """A model of a catalogue shape (or `tiny`) and a tokenizer with one token per byte.

    The same shape always gets the same weights. Only dense full-attention shapes are built, as Llama models:
    their passes cost what the named model's passes cost.
    """
    config = deepcopy(_TINY) if shape == "tiny" else _config(shape)
    config.eos_token_id = _END
    torch.manual_seed(0)
    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device:
            model = LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(previous)
    model.generation_config.eos_token_id = _END
    model.generation_config.pad_token_id = _END
    return model, byte_tokenizer()


_END = 257


def byte_tokenizer() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={char: place for place, char in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|start|>",
        eos_token="<|end|>",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def _config(shape: str) -> LlamaConfig:
    shapes = catalogue_models()
    if shape not in shapes:
        raise ValueError(f"no catalogue shape is called {shape!r}; there are tiny, {', '.join(shapes)}")
    spec = shapes[shape]
    is_dense = spec.mla is None and spec.moe is None and spec.is_mlp_gated and not any(spec.layer_windows)
    if not is_dense:
        raise ValueError(f"{shape} is not a dense full-attention shape; random weights are built for those only")
    return LlamaConfig(
        num_hidden_layers=spec.num_layers,
        hidden_size=spec.hidden_size,
        intermediate_size=spec.intermediate_size,
        num_attention_heads=spec.num_query_heads,
        num_key_value_heads=spec.num_kv_heads,
        head_dim=spec.head_dim,
        vocab_size=spec.vocab_size,
        max_position_embeddings=spec.max_context,
        tie_word_embeddings=spec.is_tied,
    )
