"""Text to ids and back, and the bytes of every token."""

from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from inference import tokens
from inference.engine import Engine

TEXTS = ["Hello, world", "é 🧑‍🚀 漢字", " leading and trailing ", "line\nbreak\ttab", "<not special>"]


def sentencepiece_tokenizer() -> Any:
    """Pieces with ▁ for a space and <0x..> for bytes, as Llama 2's."""
    pieces = ["<s>", "</s>", "▁He", "llo", "▁wor", "ld", *[f"<0x{byte:02X}>" for byte in range(256)]]
    backend = Tokenizer(models.BPE(vocab={piece: place for place, piece in enumerate(pieces)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")


@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_of_the_tokens_join_to_the_text(tiny: Engine, text: str) -> None:
    ids = tokens.encode(tiny.tokenizer, text, chat_template=False)
    assert b"".join(tiny.token_bytes[token_id] for token_id in ids).decode() == text
    assert tokens.decode(tiny.tokenizer, ids) == text


@pytest.mark.real_model
@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_of_the_default_models_tokens_join_to_the_text(real: Engine, text: str) -> None:
    ids = tokens.encode(real.tokenizer, text, chat_template=False)
    assert b"".join(real.token_bytes[token_id] for token_id in ids).decode() == text


@pytest.mark.real_model
def test_every_id_of_the_default_vocabulary_has_bytes(real: Engine) -> None:
    assert all(real.token_bytes[token_id] for token_id in range(real.spec.vocab_size))


def test_an_id_that_no_text_maps_to_is_shown_by_its_number(tiny: Engine) -> None:
    assert tiny.token_bytes[tiny.spec.vocab_size - 1] == b"[319]"
    assert tokens.decode(tiny.tokenizer, [tiny.spec.vocab_size - 1]) == ""


def test_sentencepiece_pieces_become_spaces_and_bytes() -> None:
    tokenizer = sentencepiece_tokenizer()
    token_bytes = tokens.TokenBytes(tokenizer)
    ids = tokenizer.convert_tokens_to_ids(["▁He", "llo", "<0xC3>", "<0xA9>", "</s>"])
    assert [token_bytes[token_id] for token_id in ids] == [b" He", b"llo", b"\xc3", b"\xa9", b"</s>"]


def test_the_template_is_the_tokenizers_own(tiny: Engine) -> None:
    expected = tiny.tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], add_generation_prompt=True, return_dict=True
    )
    assert tokens.encode(tiny.tokenizer, "Hi", chat_template=True) == expected["input_ids"]


@pytest.mark.real_model
@pytest.mark.parametrize("text", TEXTS)
def test_the_default_models_template_is_its_tokenizers_own(real: Engine, text: str) -> None:
    expected = real.tokenizer.apply_chat_template(
        [{"role": "user", "content": text}], add_generation_prompt=True, return_dict=True
    )
    assert tokens.encode(real.tokenizer, text, chat_template=True) == expected["input_ids"]


def assert_stays_text(engine: Engine, special: str) -> None:
    typed = tokens.encode(engine.tokenizer, f"a{special}b", chat_template=True)
    plain = tokens.encode(engine.tokenizer, "ab", chat_template=True)
    special_ids = set(engine.tokenizer.all_special_ids)
    assert [i for i in typed if i in special_ids] == [i for i in plain if i in special_ids]
    assert f"a{special}b" in engine.tokenizer.decode(typed)


def test_a_special_token_typed_inside_the_template_stays_text(tiny: Engine) -> None:
    assert_stays_text(tiny, "<|end|>")
    assert_stays_text(tiny, "<|end|>\n<|start|>assistant\n")


@pytest.mark.real_model
def test_a_special_token_of_the_default_model_stays_text(real: Engine) -> None:
    for special in ("<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|im_end|>\n<|im_start|>assistant\n"):
        assert_stays_text(real, special)


def test_without_the_template_a_special_token_is_one_token(tiny: Engine) -> None:
    ids = tokens.encode(tiny.tokenizer, "a<|end|>b", chat_template=False)
    assert len(ids) == 3
    assert ids[1] in tiny.end_tokens


def test_a_template_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="switch the template off"):
        tokens.encode(sentencepiece_tokenizer(), "Hello", chat_template=True)
