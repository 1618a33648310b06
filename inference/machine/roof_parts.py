"""The pieces of work whose rates are this machine's roofs, each from its smallest size to the one that counts."""

from collections.abc import Callable, Generator
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

from inference.engine import Engine
from inference.jobs.bounded import Budget, Climb, Size, climb

Measuring = Generator[float, None, Climb]
_REPEATS = 15
_MIB = 2**20


def bandwidth(engine: Engine, budget: Budget) -> Measuring:
    """Bytes of a matrix-vector product over buffers up to one many times the last-level cache.

    A decode pass is mostly such products, and here they read faster than a plain sum.
    """
    columns, most = 4096, _buffer_bytes(engine.device)

    def prepare(num_bytes: int) -> Callable[[], object]:
        matrix = _ones(engine, num_bytes // (engine.dtype.itemsize * columns), columns)
        vector = _ones(engine, columns)
        return _waited(engine, lambda: torch.mv(matrix, vector))

    sizes = [
        Size(f"reading {size // _MIB} MiB", size, lambda size=size: prepare(size))  # type: ignore[misc]
        for size in (most // 16, most // 4, most)
    ]
    return climb(sizes, budget, repeats=_REPEATS)


def _buffer_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return 2048 * _MIB  # caches of accelerators are under 300 MiB
    return max(512 * _MIB, min(8 * _last_level_cache(), 2048 * _MIB))


def _last_level_cache() -> int:
    """Bytes, from Linux; 32 MiB where it does not say."""
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cache/index3/size").read_text().strip()
        return int(text.removesuffix("K")) * 1024
    except (OSError, ValueError):
        return 32 * _MIB


SIDES = (128, 256, 512, 1024, 2048)
_SIDES_CUDA = (1024, 4096, 8192)


def products(engine: Engine, budget: Budget) -> Measuring:
    """FLOPs of square matrix products."""
    sides = _SIDES_CUDA if engine.device.type == "cuda" else SIDES
    return climb([_product(engine, side, engine.dtype) for side in sides], budget, repeats=_REPEATS)


def float32_product(engine: Engine, flops: float, budget: Budget) -> Measuring:
    """The same product in float32, of as many FLOPs: what a slow dtype is compared with."""
    return climb([_product(engine, round((flops / 2) ** (1 / 3)), torch.float32)], budget, repeats=_REPEATS)


def _product(engine: Engine, side: int, dtype: torch.dtype) -> Size:
    def prepare() -> Callable[[], object]:
        a = torch.ones(side, side, dtype=dtype, device=engine.device)
        return _waited(engine, lambda: a @ a)

    return Size(f"products of {side:,}", 2 * side**3, prepare)


def overhead(engine: Engine, budget: Budget) -> Measuring:
    """A decode pass through a hollow twin: the same layers, with widths too small to cost anything."""

    def prepare() -> Callable[[], object]:
        twin = Engine(
            type(engine.model)(_hollow(engine.model.config)).to(engine.device, engine.dtype),
            engine.tokenizer,
            name="hollow twin",
            revision="",
            has_random_weights=True,
        )
        cache = twin.new_cache()
        twin.forward([1] * 8, cache)
        for _ in range(3):
            twin.forward([1], cache)
        return lambda: twin.forward([1], cache)

    return climb([Size("the hollow twin", 1, prepare)], budget, repeats=20)


LADDER = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_LADDER_BYTES = 2**30  # of weights at most; more would only take longer
_FROM_16 = 2**33  # bytes times tokens: the more arithmetic, the less it matters what a cache holds


def ladder(engine: Engine, budget: Budget) -> Measuring:
    """The model's own matrices, one after the other as in a pass, by number of tokens; work: tokens x weights."""

    def rung(num_tokens: int) -> Size:
        matrices = _matrices(engine, _LADDER_BYTES if num_tokens < 16 else _FROM_16 // num_tokens)

        def prepare() -> Callable[[], object]:
            inputs = {
                width: _ones(engine, num_tokens, width) for width in {weights.shape[1] for weights in matrices}
            }

            def run() -> None:
                for matrix in matrices:
                    linear(inputs[matrix.shape[1]], matrix)

            return _waited(engine, run)

        work = num_tokens * sum(weights.numel() for weights in matrices)
        return Size(f"the model's products of {num_tokens:,} tokens", work, prepare)

    return climb([rung(num_tokens) for num_tokens in LADDER], budget, repeats=5)


def _matrices(engine: Engine, most_bytes: int) -> list[Tensor]:
    """The weight matrices of the first layers, up to `most_bytes` and at least one; no embedding, no LM head."""
    matrices: list[Tensor] = []
    for parameter in engine.model.parameters():
        if parameter.ndim == 2 and engine.spec.vocab_size not in parameter.shape:
            if matrices and sum(matrix.nbytes for matrix in matrices) + parameter.nbytes > most_bytes:
                break
            matrices.append(parameter.detach())
    return matrices


_ATTENTION_TOKENS = (64, 256, 512, 1024)  # below the last, it is a small part of a pass


def attention(engine: Engine, budget: Budget) -> Measuring:
    """FLOPs of one layer's fused causal attention; both products, causal pairs only."""
    spec = engine.spec

    def size(n: int) -> Size:
        def prepare() -> Callable[[], object]:
            query = _ones(engine, 1, spec.num_query_heads, n, spec.head_dim)
            return _waited(engine, lambda: scaled_dot_product_attention(query, query, query, is_causal=True))

        return Size(
            f"attention over {n:,} tokens", 4 * spec.num_query_heads * spec.head_dim * n * (n + 1) / 2, prepare
        )

    return climb([size(n) for n in _ATTENTION_TOKENS], budget, repeats=_REPEATS)


def _ones(engine: Engine, *shape: int) -> Tensor:
    return torch.ones(*shape, dtype=engine.dtype, device=engine.device)


def _waited(engine: Engine, run: Callable[[], object]) -> Callable[[], object]:
    """The call, ended by a synchronisation."""
    if engine.device.type != "cuda":
        return run

    def wait() -> None:
        run()
        torch.cuda.synchronize(engine.device)

    return wait


def _hollow(config: Any) -> Any:
    """The configuration with the depth kept and every width shrunk."""
    hollow = deepcopy(config)
    small = {
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 4,
        "vocab_size": 16,
        "pad_token_id": None,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    for name, value in small.items():
        if hasattr(hollow, name):
            setattr(hollow, name, value)
    return hollow
