"""The time of everything between the products: norms, activation, gate, rotary embedding, residual sums."""

from collections.abc import Callable, Generator
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.initialization import no_init_weights
from transformers.pytorch_utils import Conv1D

from inference.engine import Engine
from inference.jobs.bounded import Budget, Climb, Size, climb

_TOKENS = (1, 8, 32, 128, 512, 1024)
"""At the last, what one operation wrote has left the caches when the next reads it, as in a pass."""
_MOST_LAYERS = 4
_MOST_BYTES = 2**30  # of products, which are built and thrown away
_REPEATS = 9


def values(engine: Engine, budget: Budget) -> Generator[float, None, Climb]:
    """Passes through layers of the model's widths whose products cost nothing; work: tokens x layers x width.

    The twin runs the model's own code. Its weight matrices return zeros that are already there, and its attention
    returns the queries.
    """
    twin = _without_products(engine)
    width: int = twin.config.num_hidden_layers * engine.spec.hidden_size

    def size(num_tokens: int) -> Size:
        def run(token_ids: Tensor) -> None:
            with torch.inference_mode():
                twin(token_ids, use_cache=False, logits_to_keep=1)
            if engine.device.type == "cuda":
                torch.cuda.synchronize(engine.device)

        def prepare() -> Callable[[], object]:
            return partial(run, torch.ones(1, num_tokens, dtype=torch.long, device=engine.device))

        return Size(f"norms and activations of {num_tokens:,} tokens", num_tokens * width, prepare)

    most = min(_TOKENS[-1], engine.spec.max_context)
    return climb([size(n) for n in _TOKENS if n < most] + [size(most)], budget, repeats=_REPEATS)


def seconds_per_value(climb: Climb) -> float:
    """Seconds per token, layer and hidden value; 0 where only one token was timed, or more took no longer.

    What a pass costs before any arithmetic is taken off, from the pass of one token.
    """
    fewest, many = climb.timed[0], climb.timed[-1]
    if fewest is many:
        return 0.0
    return max(many.best_s - fewest.best_s, 0.0) / (many.work - fewest.work)


class _Zeros(nn.Module):
    """In the place of a product: zeros of its output's shape, made once."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.kept: Tensor | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        shape = (*inputs.shape[:-1], self.width)
        if self.kept is None or self.kept.shape != shape:
            self.kept = inputs.new_zeros(shape)
        return self.kept


def _no_attention(module: Any, query: Tensor, *others: Any, **options: Any) -> tuple[Tensor, None]:
    return query.transpose(1, 2), None


_NO_ATTENTION = "no_attention"
AttentionInterface.register(_NO_ATTENTION, _no_attention)


def _without_products(engine: Engine) -> Any:
    layer_bytes = engine.spec.weight_bytes // engine.spec.num_layers
    num_layers = min(_MOST_LAYERS, engine.spec.num_layers, max(1, int(_MOST_BYTES // layer_bytes)))
    config = deepcopy(engine.model.config)
    config.num_hidden_layers = num_layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:num_layers]
    config.vocab_size = 16
    config.pad_token_id = config.bos_token_id = config.eos_token_id = None
    with no_init_weights():
        twin = type(engine.model)(config)
    twin.set_attn_implementation(_NO_ATTENTION)
    for name, module in list(twin.named_modules()):
        if isinstance(module, nn.Linear | Conv1D):
            parent, _, last = name.rpartition(".")
            width = module.out_features if isinstance(module, nn.Linear) else module.nf
            setattr(twin.get_submodule(parent), last, _Zeros(width))
    for (
        parameter
    ) in twin.parameters():  # of norms and the embedding: left as found they could be subnormal, and slow
        parameter.requires_grad_(False).fill_(1)
    return twin.to(engine.device, engine.dtype).eval()
