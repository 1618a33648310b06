"""Turns a GGUF file into a folder of float32 safetensors that transformers loads quietly."""

from pathlib import Path

import torch
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint


def convert(gguf: Path, folder: Path) -> None:
    """Write a GGUF file's model, tokenizer and chat template into a new folder, weights as float32.

    `from_pretrained(gguf_file=...)` asks for the accelerate package and returns a model marked as quantised,
    which cannot be saved. Handing it the same tensors as a state dict needs neither; the bytes are equal.
    """
    config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name)
    with torch.device("meta"):  # only the parameter names are needed, to map the GGUF's names to
        skeleton = AutoModelForCausalLM.from_config(config)
    tensors = load_gguf_checkpoint(
        str(gguf), return_tensors=True, model_to_load=skeleton, torch_dtype=torch.float32
    )["tensors"]
    model = type(skeleton).from_pretrained(None, config=config, state_dict=tensors)
    model.save_pretrained(folder)

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.model_max_length = config.max_position_embeddings
    # The GGUF only names its word splitter ("smollm") and transformers ignores the name: without Digits,
    # a number after several spaces gets other tokens than the model was trained on.
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    )
    tokenizer.save_pretrained(folder)
