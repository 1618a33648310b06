"""What holds for the cost of every model, pass and machine, whatever the numbers."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.arithmetic.spec import ModelSpec
from inference.catalogue import models
from inference.cost import Work, forward_work, kv_bytes, kv_bytes_per_token
from inference.planner.own.hardware import own_hardware

MODELS = models()
SPECS = st.sampled_from(list(MODELS.values()))
EXPERTS = st.sampled_from([spec for spec in MODELS.values() if spec.moe])
SLIDING = st.sampled_from([spec for spec in MODELS.values() if any(spec.layer_windows)])
CONTEXT, BATCH, CHUNK = st.integers(1, 200_000), st.integers(1, 5_000), st.integers(1, 2_000)
few = settings(max_examples=40, deadline=None)


def decode(spec: ModelSpec, context_len: int, batch_size: int = 1) -> Work:
    return forward_work(spec, num_query_tokens=1, context_len=context_len, batch_size=batch_size)


@few
@given(spec=EXPERTS, batch_size=BATCH, more=BATCH)
def test_a_larger_batch_reads_more_experts_but_never_more_than_there_are(
    spec: ModelSpec, batch_size: int, more: int
) -> None:
    alone, few_tokens, many = (
        decode(spec, 100, batch).weight_bytes for batch in (1, batch_size, batch_size + more)
    )
    multiplied = spec.matrix_params - (0 if spec.is_tied else spec.lm_head_params)
    assert alone == pytest.approx(spec.matmul_params * spec.weight_bits / 8)
    assert alone <= few_tokens * (1 + 1e-12)
    assert few_tokens <= many * (1 + 1e-12)
    assert many <= multiplied * spec.weight_bits / 8 * (1 + 1e-12)


@few
@given(spec=SLIDING, context_len=CONTEXT, chunk=CHUNK)
def test_a_sliding_window_never_costs_more_than_full_attention(
    spec: ModelSpec, context_len: int, chunk: int
) -> None:
    full = replace(spec, layer_windows=(None,) * spec.num_layers)
    queries = min(chunk, context_len)
    sliding_work, full_work = (
        forward_work(each, num_query_tokens=queries, context_len=context_len) for each in (spec, full)
    )
    assert sliding_work.kv_read_bytes <= full_work.kv_read_bytes
    assert sliding_work.flops <= full_work.flops
    assert kv_bytes(spec, context_len=context_len) <= kv_bytes(full, context_len=context_len)
    if context_len <= min(window for window in spec.layer_windows if window):
        assert sliding_work == full_work


@few
@given(spec=SPECS, context_len=CONTEXT, batch_size=BATCH, more=CHUNK)
def test_a_longer_context_and_a_larger_batch_never_cost_less(
    spec: ModelSpec, context_len: int, batch_size: int, more: int
) -> None:
    work = decode(spec, context_len, batch_size)
    for larger in (decode(spec, context_len + more, batch_size), decode(spec, context_len, batch_size + more)):
        assert larger.flops >= work.flops
        assert larger.kv_read_bytes >= work.kv_read_bytes
        assert larger.weight_bytes >= work.weight_bytes * (1 - 1e-12)


@few
@given(spec=SPECS, first=CHUNK, second=CHUNK)
def test_a_prompt_in_two_chunks_writes_the_same_cache_and_reads_the_weights_twice(
    spec: ModelSpec, first: int, second: int
) -> None:
    whole = forward_work(spec, num_query_tokens=first + second, context_len=first + second)
    chunks = [
        forward_work(spec, num_query_tokens=first, context_len=first),
        forward_work(spec, num_query_tokens=second, context_len=first + second),
    ]
    assert sum(chunk.kv_write_bytes for chunk in chunks) == whole.kv_write_bytes
    assert sum(chunk.weight_bytes for chunk in chunks) >= whole.weight_bytes
    if not spec.mla:  # its second chunk may expand the first one's latents again
        assert sum(chunk.flops for chunk in chunks) == whole.flops + 2 * spec.lm_head_params


@few
@given(spec=SPECS, context_len=CONTEXT, bits=st.sampled_from([4, 8, 16, 32]))
def test_bytes_follow_the_width_of_weights_and_cache(spec: ModelSpec, context_len: int, bits: int) -> None:
    wide, narrow = (decode(each, context_len) for each in (spec, replace(spec, weight_bits=bits, kv_bits=bits)))
    assert narrow.weight_bytes * 16 / bits == pytest.approx(wide.weight_bytes)
    assert narrow.kv_read_bytes * 16 / bits == pytest.approx(wide.kv_read_bytes)
    assert narrow.flops == wide.flops
    assert kv_bytes_per_token(spec) * bits / 16 == kv_bytes_per_token(replace(spec, kv_bits=bits))


@few
@given(
    memory_gb=st.floats(1, 10_000),
    bandwidth_gb_s=st.floats(10, 50_000),
    tflops=st.floats(0.1, 50_000),
    link_gb_s=st.floats(1, 10_000),
)
def test_units_of_a_datasheet_survive_the_round_trip(
    memory_gb: float, bandwidth_gb_s: float, tflops: float, link_gb_s: float
) -> None:
    machine = own_hardware("Mine", memory_gb, bandwidth_gb_s, tflops, link_gb_s=link_gb_s)
    assert machine.memory_bytes
    assert machine.interconnect_bandwidth
    assert machine.memory_bytes / 1e9 == pytest.approx(memory_gb)
    assert machine.bandwidth / 1e9 == pytest.approx(bandwidth_gb_s)
    assert machine.peak_flops["bfloat16"] / 1e12 == pytest.approx(tflops)
    assert machine.interconnect_bandwidth / 1e9 == pytest.approx(link_gb_s)
