"""Between text and token ids: the bytes of a token, the chat template, and text that grows token by token."""

import json
from collections.abc import Sequence
from typing import Any

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SENTINEL = "two-phases-user-text"  # stands for the prompt while the template around it is tokenised


def encode(tokenizer: Any, prompt: str, *, chat_template: bool) -> list[int]:
    """Token ids of the prompt, inside the model's chat template if asked.

    With the template, text that spells one of the model's special tokens stays text: a learner cannot end
    their own turn by typing `<|im_end|>`. Without it the prompt is the model's whole input, special tokens
    included.
    """
    if not chat_template:
        return list(tokenizer(prompt).input_ids)
    if tokenizer.chat_template is None:
        raise ValueError("this model has no chat template; switch the template off")
    if not any(special in prompt for special in _special_tokens(tokenizer)):
        return list(tokenizer(_in_template(tokenizer, prompt), add_special_tokens=False).input_ids)
    head, tail = _in_template(tokenizer, _SENTINEL).split(_SENTINEL)
    ids: list[int] = tokenizer(head, add_special_tokens=False).input_ids
    ids += tokenizer(prompt, add_special_tokens=False, split_special_tokens=True).input_ids
    ids += tokenizer(tail, add_special_tokens=False).input_ids
    return ids


def _in_template(tokenizer: Any, prompt: str) -> str:
    messages = [{"role": "user", "content": prompt}]
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


def _special_tokens(tokenizer: Any) -> list[str]:
    return [token.content for token in tokenizer.added_tokens_decoder.values()]


def decode(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """The text of output tokens, special tokens left out."""
    return str(tokenizer.decode(list(token_ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))


class TokenBytes:
    """The bytes behind each token id, for byte-level and for SentencePiece vocabularies."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = {token_id: token.content for token_id, token in tokenizer.added_tokens_decoder.items()}
        decoder = json.loads(tokenizer.backend_tokenizer.to_str()).get("decoder") or {}
        self._byte_of = _byte_level_alphabet() if '"ByteLevel"' in json.dumps(decoder) else None

    def __getitem__(self, token_id: int) -> bytes:
        if token_id in self._special:
            return str(self._special[token_id]).encode()
        piece = self._tokenizer.convert_ids_to_tokens(token_id)
        if piece is None:  # a padded vocabulary has ids no text maps to
            return f"[{token_id}]".encode()
        if self._byte_of is not None:
            return bytes(self._byte_of[char] for char in piece)
        if len(piece) == len("<0xE2>") and piece.startswith("<0x"):
            return bytes.fromhex(piece[3:5])
        return str(piece).replace("▁", " ").encode()


def _byte_level_alphabet() -> dict[str, int]:
    """Character to byte as in GPT-2's encoder.py: printable bytes stand for themselves, the rest from U+0100."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    alphabet = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    return alphabet | {chr(256 + place): byte for place, byte in enumerate(others)}
