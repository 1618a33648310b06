"""A model and its tokenizer, shared and read-only; the one call into transformers, with its timers."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from inference.arithmetic.spec import ModelSpec
from inference.device import DeviceClock, best_device, best_dtype, dtype_named
from inference.run import tokens
from inference.weights import WeightsError, find, loading, random_model

ATTENTION = "sdpa"  # fused attention is the honest default for timing


class OutOfMemoryError(RuntimeError):
    """The device has no memory left for this pass; the run can go on after memory is freed."""


@dataclass(frozen=True, slots=True, eq=False)
class Forward:
    """One pass as the model returned it. Only the newest of a run is kept: it is as wide as the vocabulary."""

    logits: Tensor
    """[vocab], float32, on the CPU: the last position's."""
    forward_s: float
    device_s: float | None


class Engine:
    """Knows nothing of learners or threads: whoever owns the device calls `forward`, one caller at a time."""

    def __init__(
        self, model: Any, tokenizer: Any, *, name: str, revision: str, has_random_weights: bool, note: str = ""
    ) -> None:
        self.model = model.eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.name = name
        self.revision = revision
        self.has_random_weights = has_random_weights
        self.note = note
        """What to know of the model before its output is trusted; a sentence, or empty. Untrusted text."""
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype
        num_params = sum(parameter.numel() for parameter in model.parameters())
        bits = self.dtype.itemsize * 8
        self.spec = ModelSpec.from_config(
            model.config, name=name, total_params=num_params, weight_bits=bits, kv_bits=bits
        )
        self.token_bytes = tokens.TokenBytes(tokenizer)
        self.end_tokens = _end_tokens(model, tokenizer)

    @classmethod
    def load(
        cls,
        model: str | None = None,
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
        progress: Callable[[str, float | None], None] | None = None,
    ) -> "Engine":
        """Load `model`: None is TWOPHASES_MODEL or the default; a folder, a hub id, or `random:SHAPE`.

        Raises WeightsError with one clear sentence when the weights cannot be had.
        """
        report = progress or (lambda sentence, fraction: None)
        name = model or os.environ.get("TWOPHASES_MODEL") or None
        place = torch.device(device) if device is not None else best_device()
        number = dtype_named(dtype) if dtype is not None else best_dtype(place)
        if name is not None and name.startswith(random_model.PREFIX):
            shape = name.removeprefix(random_model.PREFIX)
            try:
                loaded, tokenizer = random_model.build(shape, dtype=number, device=place)
            except ValueError as error:
                raise WeightsError(str(error)) from None
            return cls(loaded, tokenizer, name=name, revision="seed 0", has_random_weights=True)
        folder = find(name, progress=report)
        report("Loading the model", None)
        loaded, tokenizer = loading.from_folder(folder, device=place, dtype=number, attention=ATTENTION)
        return cls(
            loaded,
            tokenizer,
            name=folder.name,
            revision=folder.revision,
            has_random_weights=False,
            note=folder.note,
        )

    @property
    def is_chat_model(self) -> bool:
        return self.tokenizer.chat_template is not None

    @property
    def is_on_cpu(self) -> bool:
        return self.device.type == "cpu"

    def check_tokens(self, token_ids: Iterable[int]) -> None:
        """Refuse ids without a row in the embedding: a pass with one fails, and on CUDA takes the process along."""
        for token_id in token_ids:
            if not 0 <= token_id < self.spec.vocab_size:
                raise ValueError(
                    f"token {self._name_of(token_id)} is not among the {self.spec.vocab_size:,} of {self.name}; "
                    "leave it out, or resize the model's embedding"
                )

    def _name_of(self, token_id: int) -> str:
        known = 0 <= token_id < len(self.tokenizer)
        return f"{token_id} ({self.tokenizer.convert_ids_to_tokens(token_id)!r:.60})" if known else str(token_id)

    def new_cache(self) -> DynamicCache:
        return DynamicCache(config=self.model.config)

    def warm_up(self) -> None:
        """Run one pass of each kind and forget it: first passes pay for allocations and kernel choices."""
        cache = self.new_cache()
        for token_ids in ([0] * 16, [0]):
            self.forward(token_ids, cache)

    def in_dtype(self, dtype: str | torch.dtype) -> "Engine":
        """The same model in another number format: a copy, with its own memory."""
        number = dtype_named(dtype)
        if number == self.dtype:
            return self
        return Engine(
            deepcopy(self.model).to(number),
            self.tokenizer,
            name=self.name,
            revision=self.revision,
            has_random_weights=self.has_random_weights,
            note=self.note,
        )

    def forward(self, token_ids: Sequence[int], cache: DynamicCache) -> Forward:
        """Feed `token_ids` after what `cache` holds; the cache grows by their number.

        After an exception the cache may have grown in some layers and not in others: throw it away.
        """
        return self.forward_rows([token_ids], cache)

    def forward_rows(self, rows: Sequence[Sequence[int]], cache: DynamicCache) -> Forward:
        """The same for a batch: as many tokens in every row, one sequence of the cache for each.

        The logits returned are the first row's.
        """
        logits, forward_s, device_s = self._run(rows, cache, num_rows=1)
        return Forward(logits[0, -1], forward_s, device_s)

    def forward_last(
        self, token_ids: Sequence[int], cache: DynamicCache, num_positions: int
    ) -> tuple[Tensor, Forward]:
        """As `forward`, with the logits of the last positions: [positions, vocab], float32, on the CPU."""
        logits, forward_s, device_s = self._run([token_ids], cache, num_positions=num_positions)
        return logits[0], Forward(logits[0, -1], forward_s, device_s)

    def forward_padded(
        self, token_ids: Sequence[int], cache: DynamicCache, lengths: Sequence[int]
    ) -> tuple[Tensor, Forward]:
        """One token for each sequence of a cache that is padded on the left; `lengths` are those without padding.

        Returns every sequence's logits: [batch, vocab], float32, on the CPU.
        """
        longest = cache.get_seq_length()
        starts = torch.tensor([[longest - length] for length in lengths], device=self.device)
        mask = (torch.arange(longest + 1, device=self.device) >= starts).long()
        positions = torch.tensor([[length] for length in lengths], device=self.device)
        rows = [[token_id] for token_id in token_ids]
        logits, forward_s, device_s = self._run(rows, cache, attention_mask=mask, position_ids=positions)
        return logits[:, -1], Forward(logits[0, -1], forward_s, device_s)

    @torch.inference_mode()
    def _run(
        self,
        rows: Sequence[Sequence[int]],
        cache: DynamicCache,
        *,
        num_rows: int | None = None,
        num_positions: int = 1,
        **padding: Tensor,
    ) -> tuple[Tensor, float, float | None]:
        """Logits [rows, positions, vocab], then the host's and the device's seconds: the one call of the model."""
        for row in rows:
            self.check_tokens(row)
        ids = torch.tensor([list(row) for row in rows], device=self.device)
        events = DeviceClock() if self.device.type == "cuda" else None
        start = time.perf_counter()
        try:
            if events:
                events.start()
            output = self.model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=num_positions, **padding)
            if events:
                events.stop()
            logits = output.logits[:num_rows].float().cpu()  # the copy also waits for the device
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise OutOfMemoryError(_no_memory(ids.numel())) from error
        except RuntimeError as error:
            if "memory" in str(error).lower():  # the CPU allocator raises a plain RuntimeError
                raise OutOfMemoryError(_no_memory(ids.numel())) from error
            raise
        return logits, time.perf_counter() - start, events.seconds() if events else None


def measured_kv_bytes(cache: DynamicCache) -> int:
    """Bytes of the keys and values, summed over the cache's own tensors."""
    return sum(
        layer.keys.nbytes + layer.values.nbytes
        for layer in cache.layers
        if getattr(layer, "keys", None) is not None
    )


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    ends = model.generation_config.eos_token_id
    if ends is None:
        ends = tokenizer.eos_token_id
    return frozenset([] if ends is None else [ends] if isinstance(ends, int) else ends)


def _no_memory(num_tokens: int) -> str:
    return f"no memory was left for a pass of {num_tokens} tokens; shorten the prompt or reset another run"
