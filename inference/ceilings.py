"""This machine's roofs, measured: read bandwidth, matmul rate, and what a pass costs before any arithmetic."""

import datetime
import logging
import time
from collections.abc import Callable, Generator
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

from inference import APP_VERSION
from inference.cache_folder import cache_folder, write_whole
from inference.elementwise import seconds_per_value
from inference.engine import Engine, device_name
from inference.roofline import Ceilings

log = logging.getLogger(__name__)
T = TypeVar("T")
_CEILINGS = TypeAdapter(Ceilings)
_REPEATS = 15
_MIB = 2**20


def measure(engine: Engine) -> Generator[float, None, Ceilings]:
    """Yields the fraction done after every short piece of work; returns the roofs and keeps them on disk."""
    measured = len(_MATMUL_SIZES) + 5
    bandwidth = yield from _part(_bandwidth(engine.device, engine.dtype), 0, measured)
    rates = []
    for place, size in enumerate(_MATMUL_SIZES):
        rates.append((yield from _part(_matmul_rate(engine.device, engine.dtype, size), 1 + place, measured)))
    overhead_s = yield from _part(_overhead(engine), measured - 4, measured)
    elementwise_s = yield from _part(seconds_per_value(engine), measured - 3, measured)
    attention = yield from _part(_attention_rate(engine), measured - 2, measured)
    ladder = yield from _part(_ladder(engine), measured - 1, measured)
    ceilings = Ceilings(
        device=device_name(engine.device),
        dtype=str(engine.dtype).removeprefix("torch."),
        bandwidth=bandwidth,
        flops=max(rates),
        overhead_s=overhead_s,
        measured_on=datetime.date.today().isoformat(),
        threads=torch.get_num_threads(),
        matmul_ladder=ladder,
        attention_flops=attention,
        elementwise_s=elementwise_s,
    )
    remember(engine, ceilings)
    return ceilings


def remember(engine: Engine, ceilings: Ceilings) -> None:
    """Keep the roofs of this machine on disk, if it can be written."""
    try:
        write_whole(_path(engine), _CEILINGS.dump_json(ceilings))
    except OSError as error:
        log.warning("The measured roofs cannot be kept (%s); they are measured again at the next start", error)


def remembered(engine: Engine) -> Ceilings | None:
    """The roofs measured earlier on this machine for this device, dtype, thread count and depth; None if never."""
    try:
        found = _CEILINGS.validate_json(_path(engine).read_bytes())
    except (OSError, ValidationError):
        return None
    return found if found.elementwise_s else None  # written before it was measured


_MATMUL_SIZES = (1024, 2048)


def _path(engine: Engine) -> Path:
    kind = "".join(char if char.isalnum() else "-" for char in device_name(engine.device))
    dtype = str(engine.dtype).removeprefix("torch.")
    depth = f"{type(engine.model).__name__}-{engine.spec.num_layers}"
    name = f"{APP_VERSION}-{kind}-{dtype}-{torch.get_num_threads()}-{torch.__version__}-{depth}.json"
    return cache_folder() / "ceilings" / name


def _part(work: Generator[float, None, T], place: int, num_parts: int) -> Generator[float, None, T]:
    while True:
        try:
            yield (place + next(work)) / num_parts
        except StopIteration as end:
            result: T = end.value
            return result


def _best_seconds(
    device: torch.device, run: Callable[[], object], repeats: int = _REPEATS
) -> Generator[float, None, float]:
    """The shortest of the repeats after one warm-up, each ended by a synchronisation; yields the fraction done.

    A roof is what the machine can do: other programs only ever make it look lower. STREAM reports its best too.
    """
    times = []
    for repeat in range(repeats + 1):
        start = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if repeat:
            times.append(time.perf_counter() - start)
        yield repeat / (repeats + 1)
    return min(times)


def _bandwidth(device: torch.device, dtype: torch.dtype) -> Generator[float, None, float]:
    """Bytes/s of a matrix-vector product over a buffer many times the last-level cache.

    A decode pass is mostly such products, and here they read faster than a plain sum.
    """
    rows, columns = _buffer_bytes(device) // (dtype.itemsize * 4096), 4096
    matrix = torch.ones(rows, columns, dtype=dtype, device=device)
    vector = torch.ones(columns, dtype=dtype, device=device)
    seconds = yield from _best_seconds(device, lambda: torch.mv(matrix, vector))
    return matrix.nbytes / seconds


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


def _matmul_rate(device: torch.device, dtype: torch.dtype, size: int) -> Generator[float, None, float]:
    scale = 4 if device.type == "cuda" else 1
    side = size * scale
    a: Tensor = torch.ones(side, side, dtype=dtype, device=device)
    seconds = yield from _best_seconds(device, lambda: a @ a)
    return 2 * side**3 / seconds


def _overhead(engine: Engine) -> Generator[float, None, float]:
    """Seconds of a decode pass through a hollow twin: the same layers, with widths too small to cost anything."""
    twin = Engine(
        type(engine.model)(_hollow(engine.model.config)).to(engine.device, engine.dtype),
        engine.tokenizer,
        name="hollow twin",
        revision="",
        has_random_weights=True,
    )
    cache = twin.new_cache()
    twin.forward([1] * 8, cache)
    times = []
    for repeat in range(24):
        times.append(twin.forward([1], cache).forward_s)
        yield repeat / 24
    return min(times[4:])


_LADDER = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_LADDER_BYTES = 2**30  # of weights at most; more would only take longer
_FEW_BYTES = 2**27  # from 128 tokens on arithmetic sets the time, and it no longer matters what a cache holds


def _ladder(engine: Engine) -> Generator[float, None, tuple[tuple[int, float], ...]]:
    """Seconds per weight of the model's own matrices, one after the other as in a pass, by number of tokens."""
    ladder = []
    for place, num_tokens in enumerate(_LADDER):
        matrices = _matrices(engine, _LADDER_BYTES if num_tokens < 128 else _FEW_BYTES)
        num_weights = sum(matrix.numel() for matrix in matrices)
        inputs = {
            width: torch.ones(num_tokens, width, dtype=engine.dtype, device=engine.device)
            for width in {matrix.shape[1] for matrix in matrices}
        }

        def run(matrices: list[Tensor] = matrices, inputs: dict[int, Tensor] = inputs) -> None:
            for matrix in matrices:
                linear(inputs[matrix.shape[1]], matrix)

        work = _best_seconds(engine.device, run, repeats=5 if num_tokens < 512 else 3)
        ladder.append((num_tokens, (yield from _part(work, place, len(_LADDER))) / num_weights))
    return tuple(ladder)


def _matrices(engine: Engine, most_bytes: int) -> list[Tensor]:
    """The weight matrices of the first layers, up to `most_bytes` and at least one; no embedding, no LM head."""
    found: list[Tensor] = []
    for parameter in engine.model.parameters():
        if parameter.ndim == 2 and engine.spec.vocab_size not in parameter.shape:
            if found and sum(matrix.nbytes for matrix in found) + parameter.nbytes > most_bytes:
                break
            found.append(parameter.detach())
    return found


_ATTENTION_TOKENS = 1024  # below, it is a small part of a pass


def _attention_rate(engine: Engine) -> Generator[float, None, float]:
    """FLOP/s of one layer's fused causal attention; both products, causal pairs only."""
    spec, n = engine.spec, _ATTENTION_TOKENS
    query = torch.ones(1, spec.num_query_heads, n, spec.head_dim, dtype=engine.dtype, device=engine.device)
    seconds = yield from _best_seconds(
        engine.device, lambda: scaled_dot_product_attention(query, query, query, is_causal=True)
    )
    return 4 * spec.num_query_heads * spec.head_dim * n * (n + 1) / 2 / seconds


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
