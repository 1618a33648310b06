"""A folder whose tokenizer is a SentencePiece file alone: loaded, with the ids of SentencePiece itself."""

from pathlib import Path

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from inference.engine import Engine
from inference.generation import Generation
from inference.run import tokens
from inference.weights import WeightsError

CORPUS = ["The lighthouse keeper wrote a letter to the sea.", "Nobody has read the answer yet."] * 50
TEXTS = ["The lighthouse keeper", "the sea – ü 漢", "two\nlines"]


@pytest.fixture(scope="module")
def folder(tiny: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama")
    tiny.model.save_pretrained(path)
    SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_prefix=str(path / "tokenizer"),
        model_type="bpe",
        normalization_rule_name="identity",  # as Llama 2's
        vocab_size=310,
        byte_fallback=True,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return path


@pytest.mark.parametrize("text", TEXTS)
def test_the_ids_are_those_of_sentencepiece_and_the_bytes_join_to_the_text(folder: Path, text: str) -> None:
    engine = Engine.load(str(folder))
    run = Generation(engine, text)
    ids = [token.id for token in run.trace.prompt_tokens]
    assert ids == SentencePieceProcessor(str(folder / "tokenizer.model")).encode(text)
    assert b"".join(token.raw for token in run.trace.prompt_tokens).decode().removeprefix(" ") == text
    assert tokens.decode(engine.tokenizer, ids) == text


def test_a_tokenizer_model_that_is_damaged_is_named_with_its_folder(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    whole = (tmp_path / "tokenizer.model").read_bytes()
    (tmp_path / "tokenizer.model").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(WeightsError, match=f"the tokenizer in {tmp_path} cannot be loaded"):
        Engine.load(str(tmp_path))
