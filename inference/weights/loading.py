"""A model and its tokenizer from a folder; what cannot be read is refused by the name of the part."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from inference.weights import ModelFolder, WeightsError

_DECODER_NAMES = {
    r"^(model\.)?language_model\.(model\.)?(?!lm_head)": "model.",
    r"^language_model\.lm_head": "lm_head",
}
"""From a weight's name within a multimodal model to its name in the text decoder alone."""


def from_folder(
    folder: ModelFolder, *, device: torch.device, dtype: torch.dtype, attention: str
) -> tuple[Any, Any]:
    """The model on its device, and the tokenizer; from local safetensors and text files alone."""
    safe = {"local_files_only": True, "trust_remote_code": False}
    path = folder.path
    with _naming(f"the configuration {path / 'config.json'}", "copy it again or choose another model"):
        config = AutoConfig.from_pretrained(path, **safe)
    with _naming(f"the tokenizer in {path}", "copy its files again or choose another model"):
        tokenizer = AutoTokenizer.from_pretrained(path, **safe)
    with _naming(f"the model in {path}", "copy config.json and the weights again or choose another model"):
        model, loading = AutoModelForCausalLM.from_pretrained(
            path,
            config=config.get_text_config(),  # of a multimodal model the text decoder alone
            key_mapping=_DECODER_NAMES if config.get_text_config() is not config else None,
            use_safetensors=True,
            dtype=dtype,
            attn_implementation=attention,
            output_loading_info=True,
            **safe,
        )
    if missing := loading["missing_keys"]:  # transformers would fill them with noise and go on
        raise WeightsError(
            f"{folder.name} has no weights for {min(missing)}; copy it again or choose another model"
        )
    return model.to(device), tokenizer


# what damaged and foreign folders make transformers raise: also for a missing extra package or a size of 0
_LOADING_ERRORS = (OSError, ValueError, KeyError, RuntimeError, ImportError, ArithmeticError, StrictDataclassError)


@contextmanager
def _naming(part: str, remedy: str) -> Iterator[None]:
    """Say which part of a folder is damaged or foreign: transformers' sentences often do not."""
    try:
        yield
    except _LOADING_ERRORS as error:
        reason = str(error).split("\n")[0][:200]
        raise WeightsError(f"{part} cannot be loaded ({reason}); {remedy}") from error
