"""A local folder that transformers could not load safely is refused by name."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from inference.weights import WeightsError, find


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A folder with the files of a model."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    save_file({"weight": np.zeros(4, np.float32)}, folder / "model.safetensors")
    return folder


def test_a_local_folder_is_found_by_argument_and_by_environment(
    local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = find(str(local))
    assert (folder.path, folder.name) == (local, "my-model")
    monkeypatch.setenv("TWOPHASES_MODEL", str(local))
    assert find() == folder


def test_the_revision_of_a_local_folder_follows_its_weights_and_not_its_place(local: Path, tmp_path: Path) -> None:
    revision = find(str(local)).revision
    assert find(str(shutil.copytree(local, tmp_path / "copy"))).revision == revision
    save_file({"weight": np.ones(4, np.float32)}, local / "model.safetensors")
    assert find(str(local)).revision != revision


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("config.json", "has no config.json"),
        ("tokenizer.json", "has no tokenizer"),
        ("model.safetensors", "has no weights"),
    ],
)
def test_a_local_folder_without_a_part_is_refused_by_the_parts_name(
    local: Path, missing: str, sentence: str
) -> None:
    (local / missing).unlink()
    with pytest.raises(WeightsError, match=sentence):
        find(str(local))


@pytest.mark.parametrize("pickle", ["pytorch_model.bin", "consolidated.00.pth", "model.pt", "model.pkl"])
def test_pickled_weights_are_refused(local: Path, pickle: str) -> None:
    (local / "model.safetensors").rename(local / pickle)
    with pytest.raises(WeightsError, match=f"{pickle}.*can run code: safetensors only"):
        find(str(local))


def test_a_git_lfs_pointer_and_a_cut_file_are_not_whole(local: Path) -> None:
    weights = local / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(WeightsError, match=r"not a whole safetensors file.*copy it again"):
        find(str(local))
    weights.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 123\n")
    with pytest.raises(WeightsError, match=r"not a whole safetensors file"):
        find(str(local))


def test_a_missing_shard_is_named(local: Path) -> None:
    shards = {"weight_map": {"weight": "model.safetensors", "other": "model-00002-of-00002.safetensors"}}
    (local / "model.safetensors.index.json").write_text(json.dumps(shards))
    with pytest.raises(WeightsError, match=r"lacks model-00002-of-00002.safetensors"):
        find(str(local))


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"]
)
@pytest.mark.parametrize("content", [b'{"a": 1', b"[]", b"\xff\xfe\x00", b"[" * 100_000])
def test_a_damaged_description_is_named_with_its_place(local: Path, name: str, content: bytes) -> None:
    (local / name).write_bytes(content)
    with pytest.raises(WeightsError, match=f"{local / name} is damaged.*copy it again"):
        find(str(local))


@pytest.mark.parametrize("content", ["[]", "{}", "{", '{"weight_map": []}'])
def test_a_damaged_list_of_shards_is_named(local: Path, content: str) -> None:
    (local / "model.safetensors.index.json").write_text(content)
    with pytest.raises(WeightsError, match=r"model\.safetensors\.index\.json.*copy it again"):
        find(str(local))


def test_an_overwritten_header_is_named(local: Path) -> None:
    weights = local / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:8] + b"\0" * 16 + whole[24:])
    with pytest.raises(WeightsError, match=f"{weights} is not a whole safetensors file"):
        find(str(local))


def test_an_adapter_beside_its_base_model_is_said_and_not_taken_for_weights(local: Path) -> None:
    revision = find(str(local)).revision
    (local / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    save_file({"lora": np.ones(4, np.float32)}, local / "adapter_model.safetensors")
    folder = find(str(local))
    assert "adapter_config.json) is not applied: merge it with peft's merge_and_unload()" in folder.note
    assert folder.revision == revision
    (local / "model.safetensors").unlink()
    with pytest.raises(WeightsError, match="has no weights"):
        find(str(local))
    (local / "config.json").unlink()
    with pytest.raises(WeightsError, match=r"is an adapter .* without its base model; merge it"):
        find(str(local))


def test_a_plain_folder_has_nothing_to_note(local: Path) -> None:
    assert find(str(local)).note == ""
