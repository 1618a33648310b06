"""A model folder on disk: what must be in it, and whether it is whole."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
_DESCRIPTIONS = (
    *("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"),
    *("special_tokens_map.json", "added_tokens.json", "vocab.json", "chat_template.json"),
)
_ADAPTER = "adapter_config.json"
_MERGE = "merge it with peft's merge_and_unload() and give the folder that save_pretrained() then writes"
PICKLES = {".bin", ".pt", ".pth", ".pkl"}


Progress = Callable[[str, float | None], None]
"""Receives a sentence and the fraction done, None where nothing measures it."""


def silent(sentence: str, fraction: float | None) -> None:
    """The progress of a caller who does not ask."""


class WeightsError(RuntimeError):
    """One clear sentence: what went wrong, the rule, the remedy."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A local folder that transformers loads without the network."""

    path: Path
    name: str
    """For the screen."""
    revision: str
    """The GGUF file's SHA-256, the hub's commit, or a digest of a local folder's names, sizes and samples."""
    note: str = ""
    """What lies in the folder and is not used; a sentence, or empty."""


def from_folder(path: Path, *, name: str | None = None, revision: str | None = None) -> ModelFolder:
    """A local folder, after the checks that would otherwise fail deep inside transformers."""
    config = path / "config.json"
    has_adapter = (path / _ADAPTER).is_file()
    if has_adapter and not config.is_file():
        raise WeightsError(f"{path} is an adapter ({_ADAPTER}) without its base model; {_MERGE}")
    if not config.is_file():
        raise WeightsError(f"{path} has no config.json; give the folder of a transformers model")
    for description in _DESCRIPTIONS:
        if (path / description).is_file():
            _json(path / description)
    weights = sorted(file for file in path.glob("*.safetensors") if not file.name.startswith("adapter_"))
    if not weights:
        raise WeightsError(_no_weights(path))
    _check_shards(path, weights)
    if not any((path / tokenizer).is_file() for tokenizer in TOKENIZERS):
        raise WeightsError(f"{path} has no tokenizer; it needs one of {', '.join(TOKENIZERS)}")
    digest = revision or _digest([config, *weights])
    note = f"The adapter in its folder ({_ADAPTER}) is not applied: {_MERGE}." if has_adapter else ""
    return ModelFolder(path, name or path.resolve().name, digest, note)


def _no_weights(path: Path) -> str:
    pickles = sorted(file.name for file in path.iterdir() if file.suffix in PICKLES)
    if not pickles:
        return f"{path} has no weights; it needs at least one .safetensors file"
    return (
        f"{path} has only pickled weights ({pickles[0]}), and a pickle can run code: safetensors only; "
        "if you trust them, convert them elsewhere with save_pretrained()"
    )


def _json(file: Path) -> dict[str, object]:
    """A JSON file of a model; transformers' own sentences do not say which file is damaged."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"{file} is damaged, it is no JSON ({str(error)[:120]}); copy it again") from error
    except OSError as error:
        raise WeightsError(f"{file} cannot be read ({error.strerror}); copy it again") from error
    if not isinstance(content, dict):
        raise WeightsError(f"{file} is damaged, it holds no JSON object; copy it again")
    return content


def _check_shards(path: Path, weights: list[Path]) -> None:
    """Refuse missing shards, unfinished copies and the pointers that Git LFS leaves in place of a file."""
    for index in path.glob("*.safetensors.index.json"):
        shards = _json(index).get("weight_map")
        if not isinstance(shards, dict):
            raise WeightsError(f"{index} has no weight_map; copy it again")
        listed = set(map(str, shards.values()))
        if missing := listed - {file.name for file in weights}:
            raise WeightsError(f"{path} lacks {min(missing)}, which {index.name} lists; copy it again")
    for file in weights:
        try:
            with safe_open(file, framework="numpy"):  # compares the header with the file's size
                pass
        except SafetensorError as error:
            raise WeightsError(f"{file} is not a whole safetensors file ({error}); copy it again") from error


def _digest(files: list[Path]) -> str:
    """SHA-256 over names, sizes and last mebibytes: cheap, and two fine-tunes of one model differ."""
    digest = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            file.seek(max(0, size - 2**20))
            digest.update(file.read())
    return digest.hexdigest()
