"""Text to ids and back, and the bytes of every token."""

from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.limits import Limits
from inference.run import tokens
from inference.run.recipe import Recipe
from tests.inference.incomplete import GS, engine, with_tokens_too_many, without

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


BARCODE = "]d20104012345\x1d10ABC\x1d21XYZ"  # a GS1 code: its fields are separated by byte 0x1D


@pytest.mark.parametrize("chat_template", [False, True])
def test_characters_without_a_token_are_left_out_and_counted(tiny: Engine, chat_template: bool) -> None:
    run = Generation(engine(tiny, without(GS)), BARCODE, chat_template=chat_template)
    held = b"".join(token.raw for token in run.trace.prompt_tokens).decode().removesuffix("<|end|>")
    assert held == "]d2010401234510ABC21XYZ"
    assert run.trace.metadata.num_left_out == 2
    assert Generation(tiny, BARCODE).trace.metadata.num_left_out == 0


@pytest.mark.parametrize(
    ("prompt", "num"),
    [("aa\x1daa", 1), ("\x1d\x1da", 2), ("a – b", 1), ("漢", 0), ("“a”", 2), ("", 0), ("x" * 9, 0)],
)
def test_a_character_of_several_bytes_counts_once(prompt: str, num: int) -> None:
    tokenizer = without(GS, "â")  # byte 0xE2, the first of dashes and quotation marks
    assert tokens.num_left_out(tokenizer, tokens.TokenBytes(tokenizer), prompt) == num


@pytest.mark.parametrize("text", [*TEXTS, "Hello world", "<s>", "<|end|>"])
def test_a_vocabulary_with_every_byte_leaves_nothing_out(tiny: Engine, text: str) -> None:
    pieces = ["<s>", "▁", *[f"<0x{byte:02X}>" for byte in range(256)]]
    backend = Tokenizer(models.BPE({piece: place for place, piece in enumerate(pieces)}, [], byte_fallback=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = sentencepiece_tokenizer().backend_tokenizer.decoder
    for tokenizer in (tiny.tokenizer, PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")):
        assert tokens.num_left_out(tokenizer, tokens.TokenBytes(tokenizer), text) == 0


@pytest.mark.parametrize("chat_template", [False, True])
def test_a_prompt_of_such_characters_alone_is_refused_as_what_it_is(tiny: Engine, chat_template: bool) -> None:
    Limits().check(Recipe("\x1d\x1d"))  # it is not empty
    with pytest.raises(ValueError, match=r"tiny has no token for any character of the prompt \(U\+001D\)"):
        Generation(engine(tiny, without(GS)), "\x1d\x1d", chat_template=chat_template)
    assert [token.raw for token in Generation(tiny, "\x1d").trace.prompt_tokens] == [b"\x1d"]


@pytest.mark.parametrize("prompt", ["", " ", "\n\t \r"])
def test_a_prompt_of_spaces_is_empty(tiny: Engine, prompt: str) -> None:
    for refuse in (lambda: Generation(tiny, prompt), lambda: Limits().check(Recipe(prompt))):
        with pytest.raises(ValueError, match="prompt is empty"):
            refuse()


def test_a_token_without_a_row_in_the_embedding_is_refused_by_name_before_the_pass(tiny: Engine) -> None:
    grown = engine(tiny, with_tokens_too_many())
    assert Generation(grown, "<extra61>").trace.prompt_tokens[0].id == 319
    with pytest.raises(ValueError, match=r"token 320 \('<extra62>'\) is not among the 320 of tiny; leave it out"):
        Generation(grown, "Hello <extra62>")
    for ids in ([65, 320], [-1], [10**30]):
        with pytest.raises(ValueError, match=f"token {ids[-1]}.* is not among the 320"):
            grown.forward(ids, grown.new_cache())
