"""What the tensors of a KV cache say, against the formula and against the model called by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inference.generation import Generation
from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from inference.kv_cache.formulas import by_query_heads, cache_bytes, formulas, right_formula
from inference.kv_cache.tensors import MeasuredCache, measured_cache_job, value_norms

if TYPE_CHECKING:
    from inference.engine import Engine


def _measured(engine: Engine, context_len: int) -> MeasuredCache:
    job = measured_cache_job(context_len)
    result, _ = drained(job.begin(engine, Limits()))
    return result


@pytest.mark.parametrize("context_len", [1, 255, 256, 257, 512])
def test_measured_bytes_are_the_right_formulas_on_the_tiny_model(tiny: Engine, context_len: int) -> None:
    measured = _measured(tiny, context_len)
    right, heads, hidden = formulas(tiny.spec)
    assert measured.kv_bytes == context_len * 2 * 2 * 2 * 8 * 4  # key and value, layers, KV heads, width, bytes
    assert measured.kv_bytes == cache_bytes(tiny.spec, right, context_len=context_len)
    assert (heads.times_right, hidden.times_right) == (2, 2)


@pytest.mark.real_model
def test_measured_bytes_are_the_right_formulas_on_the_default_model(real: Engine) -> None:
    measured = _measured(real, 300)
    width = real.dtype.itemsize
    assert measured.kv_bytes == 300 * 2 * 30 * 3 * 64 * width
    assert measured.kv_bytes == cache_bytes(real.spec, right_formula(real.spec), context_len=300)
    assert by_query_heads(real.spec).times_right == 3


def test_a_cache_is_filled_in_passes_of_at_most_256_tokens(tiny: Engine) -> None:
    _, reports = drained(measured_cache_job(400).begin(tiny, Limits()))
    assert [report.doing for report in reports] == ["256 of 400 tokens cached", "400 of 400 tokens cached"]


@pytest.mark.parametrize("context_len", [0, -1, 513])
def test_a_cache_beyond_the_context_is_refused_with_both_numbers(tiny: Engine, context_len: int) -> None:
    with pytest.raises(ValueError, match=rf"cache of {context_len:,} tokens cannot be filled.*holds 512"):
        measured_cache_job(context_len).begin(tiny, Limits())


def test_a_cache_beyond_the_memory_is_refused_with_its_size(tiny: Engine) -> None:
    with pytest.raises(ValueError, match="would take"):
        measured_cache_job(512).begin(tiny, Limits(kv_bytes_per_learner=512 * 256 - 1))


def test_value_norms_are_those_of_the_values_in_the_runs_cache(tiny: Engine) -> None:
    import torch  # noqa: PLC0415

    generation = Generation(tiny, "Hello", max_new_tokens=8)
    generation.prefill()
    generation.decode()
    columns = value_norms(generation)
    assert columns is not None
    assert len(columns) == generation.trace.steps[-1].context_len == len(generation.trace.key_norms)
    cache = tiny.new_cache()
    tiny.model(input_ids=torch.tensor([generation.trace.token_ids[:-1]]), cache=cache)
    for layer, kept in enumerate(cache.layers):
        for position, column in enumerate(columns):
            whole = kept.values[0, :, position].flatten().tolist()
            assert column[layer] == pytest.approx(sum(value**2 for value in whole) ** 0.5, rel=1e-3)


def test_there_are_no_value_norms_where_the_cache_was_given_up(tiny: Engine) -> None:
    generation = Generation(tiny, "Hello", max_new_tokens=8)
    assert value_norms(generation) is None
    generation.prefill()
    generation.release_cache()
    assert value_norms(generation) is None
