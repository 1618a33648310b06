"""Between text and token ids: the bytes of a token, the chat template, and text that grows token by token."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from inference.run.chat_template import around, filled

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def encode(tokenizer: Any, prompt: str, *, chat_template: bool) -> list[int]:
    """Token ids of the prompt, inside the model's chat template if asked.

    With the template, text that spells one of the model's special tokens stays text: a learner cannot end
    their own turn by typing `<|im_end|>`. Without it the prompt is the model's whole input, special tokens
    included.
    """
    if not chat_template:
        return list(tokenizer(prompt).input_ids)
    if not any(special in prompt for special in _special_tokens(tokenizer)):
        text = filled(tokenizer, [{"role": "user", "content": prompt}])
        return list(tokenizer(text, add_special_tokens=False).input_ids)
    typed = tokenizer(prompt, add_special_tokens=False, split_special_tokens=True).input_ids
    first, *others = (tokenizer(part, add_special_tokens=False).input_ids for part in around(tokenizer))
    return [*first, *chain.from_iterable((*typed, *part) for part in others)]


def num_left_out(tokenizer: Any, token_bytes: "TokenBytes", prompt: str) -> int:
    """Characters of the prompt that no token holds: a vocabulary may lack a byte, and then says nothing.

    0 where the tokens hold another text than parts of the prompt, as an unknown-token does.
    """
    normalizer = tokenizer.backend_tokenizer.normalizer
    text = normalizer.normalize_str(prompt).replace("▁", " ") if normalizer else prompt
    held = b"".join(token_bytes[token_id] for token_id in tokenizer(prompt, add_special_tokens=False).input_ids)
    if not text.startswith(" "):
        held = held.removeprefix(b" ")  # some tokenizers begin every text with a space
    if held == text.encode():
        return 0
    place = missing = 0
    for char in text:
        start, encoded = place, char.encode()
        for byte in encoded:
            place += held[place : place + 1] == bytes([byte])
        missing += place - start < len(encoded)
    return missing if place == len(held) else 0


def no_tokens(model: str, prompt: str) -> str:
    """Words for a prompt of which the vocabulary has nothing."""
    codes = ", ".join(f"U+{ord(char):04X}" for char in dict.fromkeys(prompt))
    return f"{model} has no token for any character of the prompt ({codes[:60]}); type other text"


def _special_tokens(tokenizer: Any) -> list[str]:
    return [token.content for token in tokenizer.added_tokens_decoder.values()]


def decode(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """The text of output tokens, special tokens left out."""
    return str(tokenizer.decode(list(token_ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))


def newest_text(tokenizer: Any, token_ids: Sequence[int], *, num_told: int, is_last: bool) -> str:
    """What the newest token adds to the text; empty while a character is incomplete, unless no token follows.

    `num_told` counts the tokens up to the newest one that added text. The same as the whole text without what was
    told, but only the newest tokens are decoded, so that the time does not grow with the answer.
    """
    start, earlier = _clean_end(tokenizer, token_ids[:num_told])
    text = decode(tokenizer, token_ids[start:])[len(earlier) :]
    return text if is_last or not text.endswith(REPLACEMENT) else ""


def _clean_end(tokenizer: Any, token_ids: Sequence[int]) -> tuple[int, str]:
    """The fewest tokens at the end that decode alone as they do behind the others: where they begin, their text.

    They begin with one that can be seen, since a space is left out before the first, and hold whole characters.
    They cut no run of byte tokens: in a SentencePiece vocabulary one wrong byte spoils all of its run.
    """
    text = ""
    for start in range(len(token_ids) - 1, -1, -1):
        without, text = text, decode(tokenizer, token_ids[start:])
        is_byte = str(tokenizer.convert_ids_to_tokens(token_ids[start])).startswith("<0x")
        if text != without and REPLACEMENT not in text and not is_byte:
            return start, text
    return 0, text


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


@dataclass(frozen=True, slots=True)
class KnownTokens:
    """The same without the tokenizer."""

    known: tuple[bytes, ...]

    @classmethod
    def of(cls, token_bytes: TokenBytes, size: int) -> "KnownTokens":
        return cls(tuple(token_bytes[token_id] for token_id in range(size)))

    def __getitem__(self, token_id: int) -> bytes:
        return self.known[token_id]


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
