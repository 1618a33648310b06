"""The text that each token adds, against the whole answer decoded at every step, for all kinds of vocabulary."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from inference.engine import Engine
from inference.generation import Generation
from inference.run import tokens
from inference.weights.random_model import byte_tokenizer

BYTES = [f"<0x{byte:02X}>" for byte in (0x41, 0xC3, 0xA9, 0xE6, 0xBC, 0xA2, 0xFF)]
PIECES = ["<s>", "</s>", "▁", "▁▁▁", "▁He", "llo", "▁wor", "ld", ".", "\N{REPLACEMENT CHARACTER}", *BYTES]


def made_of(pieces: Sequence[str], decoder: Any) -> Any:
    """Ids 0 and 1 are special; the id behind the last has no piece, as in a padded vocabulary."""
    backend = Tokenizer(models.BPE(vocab={piece: place for place, piece in enumerate(pieces)}, merges=[]))
    backend.decoder = decoder
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=pieces[0], eos_token=pieces[1])


SENTENCEPIECE = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
WORDS = ["<s>", "</s>", "un", "##able", "do", "n't", "'", ".", "é", "not"]
TOKENIZERS = {
    "bytes": byte_tokenizer(),
    "sentencepiece": made_of(PIECES, decoders.Sequence(SENTENCEPIECE)),
    "llama": made_of(PIECES, decoders.Sequence([*SENTENCEPIECE, decoders.Strip(" ", 1, 0)])),
    "metaspace": made_of(PIECES, decoders.Metaspace()),
    "wordpiece": made_of(WORDS, decoders.WordPiece()),
    "suffix": made_of(["<s>", "</s>", "lo", "low</w>", "er</w>", "</w>", "é"], decoders.BPEDecoder("</w>")),
}


def decoded_whole(tokenizer: Any, token_ids: Sequence[int]) -> list[str]:
    """The text each token adds if the whole answer is decoded at every step."""
    texts: list[str] = []
    for num in range(1, len(token_ids) + 1):
        text = tokenizer.decode(token_ids[:num], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        is_held = text.endswith("\N{REPLACEMENT CHARACTER}") and num < len(token_ids)
        texts.append("" if is_held else text[len("".join(texts)) :])
    return texts


def step_by_step(tokenizer: Any, token_ids: Sequence[int]) -> list[str]:
    texts: list[str] = []
    for num in range(1, len(token_ids) + 1):
        num_told = max((place + 1 for place, text in enumerate(texts) if text), default=0)
        is_last = num == len(token_ids)
        texts.append(tokens.newest_text(tokenizer, token_ids[:num], num_told=num_told, is_last=is_last))
    return texts


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_tokens_add_what_the_whole_answer_decoded_again_would(kind: str, data: st.DataObject) -> None:
    tokenizer = TOKENIZERS[kind]
    token_ids = data.draw(st.lists(st.integers(0, len(tokenizer)), max_size=30))
    assert step_by_step(tokenizer, token_ids) == decoded_whole(tokenizer, token_ids)


@pytest.mark.parametrize(
    ("kind", "pieces"),
    [
        ("llama", ["▁He", "</s>", "▁wor", "ld"]),
        ("llama", ["▁", "▁", "▁He", "llo"]),
        ("llama", ["<0xC3>", "<0xA9>", "<0xC3>", "<0xA9>", "<0xFF>", "llo"]),
        ("llama", ["llo", "<0xC3>", "</s>", "<0xA9>", "<0xFF>", "</s>", "ld"]),
        ("metaspace", ["▁He", "</s>", "▁wor"]),
        ("wordpiece", ["un", "##able", "do", "n't", "."]),
        ("suffix", ["low</w>", "lo", "er</w>"]),
    ],
)
def test_spaces_specials_and_split_characters_add_what_they_did(kind: str, pieces: list[str]) -> None:
    tokenizer = TOKENIZERS[kind]
    token_ids = tokenizer.convert_tokens_to_ids(pieces)
    assert step_by_step(tokenizer, token_ids) == decoded_whole(tokenizer, token_ids)


@pytest.mark.real_model
@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 49_151) | st.integers(0, 300), max_size=30))
def test_random_tokens_of_the_default_model_add_the_same(real: Engine, token_ids: list[int]) -> None:
    assert step_by_step(real.tokenizer, token_ids) == decoded_whole(real.tokenizer, token_ids)


@contextmanager
def counting_decoded(tokenizer: Any) -> Iterator[list[int]]:
    """A list that grows by the number of tokens given to each call of the tokenizer's decode."""
    decode, counts = tokenizer.decode, list[int]()

    def counting(token_ids: list[int], **options: Any) -> str:
        counts.append(len(token_ids))
        return str(decode(token_ids, **options))

    tokenizer.decode = counting
    try:
        yield counts
    finally:
        del tokenizer.decode


@pytest.mark.parametrize(
    ("kind", "pieces"),
    [
        ("bytes", list("letter")),
        ("bytes", ["æ", "¼", "¢", "Ã", "©"]),
        ("llama", ["▁He", "llo", "<0xC3>", "<0xA9>"]),
    ],
)
def test_a_step_decodes_a_few_tokens_however_long_the_answer_is(kind: str, pieces: list[str]) -> None:
    tokenizer = TOKENIZERS[kind]
    token_ids = tokenizer.convert_tokens_to_ids(pieces) * 200
    with counting_decoded(tokenizer) as counts:
        texts = step_by_step(tokenizer, token_ids)
    assert "".join(texts) == tokenizer.decode(token_ids)
    assert sum(counts) < 15 * len(token_ids)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_adds_the_same_however_it_was_rewound_and_forked(tiny: Engine, seed: int) -> None:
    rng = Random(seed)
    characters = tiny.tokenizer("é 漢🧑!").input_ids
    run = Generation(tiny, "Hello", max_new_tokens=300)
    run.prefill()
    for _ in range(80):
        num_steps = len(run.trace.steps)
        if rng.random() < 0.2 or run.finished:
            run.rewind(rng.randrange(num_steps // 2, num_steps))
            run.release_cache()
            run.fork(rng.choice(run.trace.steps[-1].candidates).token_id)
        else:
            run.decode()
            run.fork(rng.choice([*characters, 300]))
    output = [step.token_id for step in run.trace.steps]
    texts = decoded_whole(tiny.tokenizer, [*output, 300])  # its newest token is not the last
    assert [step.text for step in run.trace.steps] == texts[:-1]
