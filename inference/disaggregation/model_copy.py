"""A model for another process on this machine: its weights in files that both processes map into memory."""

from collections.abc import Generator
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.initialization import no_init_weights

from inference.engine import ATTENTION, Engine
from inference.weights.random_model import byte_tokenizer

_PART_BYTES = 2**26  # written between two yields


def write(engine: Engine, folder: Path) -> Generator[float, None, None]:
    """Put the configuration and every parameter into `folder`; yields the fraction written."""
    engine.model.config.save_pretrained(folder)
    part: dict[str, Tensor] = {}
    written = num_parts = 0
    for name, parameter in engine.model.named_parameters():  # a tied matrix comes once
        part[name] = parameter.detach().cpu().contiguous()
        if sum(tensor.nbytes for tensor in part.values()) >= _PART_BYTES:
            written += _save(part, folder, num_parts)
            num_parts, part = num_parts + 1, {}
            yield written / engine.spec.weight_bytes
    if part:
        _save(part, folder, num_parts)


def _save(part: dict[str, Tensor], folder: Path, number: int) -> int:
    save_file(part, folder / f"part-{number}.safetensors")
    return sum(tensor.nbytes for tensor in part.values())


def read(folder: Path) -> Engine:
    """The model over the files' own pages: processes that read them share it. Its tokenizer is a stand-in."""
    weights = {name: tensor for part in folder.glob("*.safetensors") for name, tensor in load_file(part).items()}
    dtype = next(iter(weights.values())).dtype
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    with no_init_weights():
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=ATTENTION)
    missing, unexpected = model.load_state_dict(weights, strict=False, assign=True)
    model.tie_weights()
    untied = set(missing) - set(model.all_tied_weights_keys)
    if untied or unexpected:
        raise RuntimeError(f"the copy of the model lacks {sorted(untied)} and does not know {unexpected}")
    return Engine(model, byte_tokenizer(), name=folder.name, revision="", has_random_weights=True)
