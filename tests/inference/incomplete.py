"""Tokenizers that do not fit their model: bytes without a token, tokens without a row, templates of all kinds."""

from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from inference.engine import Engine
from inference.weights.random_model import byte_tokenizer

GS = "ĝ"
"""What stands for byte 0x1D, the group separator, in a byte-level vocabulary: U+0100 + 0x1D."""


def without(*missing: str) -> Any:
    """A tokenizer with a token per byte that lacks some; such a tokenizer leaves them out and says nothing."""
    kept = [char for char in sorted(pre_tokenizers.ByteLevel.alphabet()) if char not in missing]
    backend = Tokenizer(models.BPE(vocab={char: place for place, char in enumerate(kept)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|start|>",
        eos_token="<|end|>",
        clean_up_tokenization_spaces=False,
        chat_template="{{ messages[0]['content'] }}<|end|>",
    )


def with_tokens_too_many() -> Any:
    """Enough added tokens that the last is beyond the tiny model's 320 rows."""
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens([f"<extra{place}>" for place in range(63)])  # 258 before: the last has id 320
    return tokenizer


def with_template(template: str) -> Any:
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


def engine(tiny: Engine, tokenizer: Any) -> Engine:
    """The tiny model with another tokenizer."""
    return Engine(tiny.model, tokenizer, name="tiny", revision="", has_random_weights=True)
