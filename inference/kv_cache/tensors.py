"""What the tensors of a KV cache themselves say: their bytes, and how long the values in them are."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes
from inference.jobs.experiments import Job, Report, Reports

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.generation import Generation
    from inference.jobs.limits import Limits
    from inference.trace import Step

_CHUNK = 256  # tokens of a pass: a learner's step waits for one pass at most


@dataclass(frozen=True, slots=True)
class MeasuredCache:
    """One sequence's cache as it was held in memory."""

    context_len: int
    kv_bytes: int
    spec: ModelSpec


def measured_cache_job(context_len: int) -> Job[MeasuredCache]:
    """Fill a fresh cache with that many tokens and add up its tensors."""

    def begin(engine: "Engine", limits: "Limits") -> Reports[MeasuredCache]:
        if not 1 <= context_len <= engine.spec.max_context:
            raise ValueError(
                f"A cache of {context_len:,} tokens cannot be filled: the model's context holds "
                f"{engine.spec.max_context:,}; choose a length from 1 to that."
            )
        held = kv_bytes(engine.spec, context_len=context_len)
        limits.check_kv(held, f"A KV cache of {context_len:,} tokens")
        return run(engine)

    def run(engine: "Engine") -> Reports[MeasuredCache]:
        from inference.engine import measured_kv_bytes  # noqa: PLC0415  # pages must not wait for torch

        cache = engine.new_cache()
        for start in range(0, context_len, _CHUNK):
            engine.forward([0] * min(_CHUNK, context_len - start), cache)
            filled = min(start + _CHUNK, context_len)
            yield Report(filled / context_len, doing=f"{filled:,} of {context_len:,} tokens cached")
        return MeasuredCache(context_len, measured_kv_bytes(cache), engine.spec)

    return Job(f"bytes of a KV cache of {context_len} tokens", MeasuredCache, begin)


@dataclass(frozen=True, slots=True)
class ValueNorms:
    columns: "list[array[float]]"
    """[layers] per position."""


def value_norms_job(generation: "Generation", steps: "Sequence[Step]") -> Job[ValueNorms]:
    """The values' norms, read between passes: only there the cache stands still. `steps` say of which cache."""

    def begin(_engine: "Engine", _limits: "Limits") -> Reports[ValueNorms]:
        columns = value_norms(generation)
        if columns is None:
            raise ValueError(
                "this run's cache was given up for memory, its values with it; the next token there rebuilds it."
            )
        yield Report(1.0)
        return ValueNorms(columns)

    made_of = (generation.trace.metadata.date, steps[-1].index, steps[-1].token_id)
    return Job(f"norms of the values of {made_of}", ValueNorms, begin, is_kept=False)


def value_norms(generation: "Generation") -> "list[array[float]] | None":
    """L2 norms of the values a run holds, over KV heads and head_dim: one array of [layers] per position.

    What `Trace.key_norms` says of the keys, and like there 0 where a sliding layer has let go of a position.
    None while the run's cache is given up. For the worker alone: a pass changes the cache.
    """
    import torch  # noqa: PLC0415

    cache = generation._cache  # only read, and only here
    if cache is None:
        return None
    num_tokens = generation.num_cached
    columns = torch.zeros(num_tokens, len(cache.layers))
    for place, layer in enumerate(cache.layers):
        norms = torch.linalg.vector_norm(layer.values[0], dim=(0, 2), dtype=torch.float32)
        columns[num_tokens - len(norms) :, place] = norms
    return [array("f", column) for column in columns.tolist()]
