"""One pass by matrix, against the whole, against torch's counter per module, and against worked numbers."""

import dataclasses
from collections import defaultdict

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from inference.arithmetic.operators import Operator, arithmetic_dtype, in_precision, operators, shares
from inference.catalogue import hardware, models
from inference.cost import Work, forward_work, kv_bytes_per_token
from inference.engine import Engine

MODELS = models()
LLAMA_8B = MODELS["llama-3.1-8b"]
H100 = hardware()["h100-sxm-80gb"]
ROOFS = {"bandwidth": H100.bandwidth, "flops": H100.peak_flops["bfloat16"]}
MODULES = {
    **{"query projection": "self_attn.q_proj", "key projection": "self_attn.k_proj"},
    **{"value projection": "self_attn.v_proj", "output projection": "self_attn.o_proj"},
    **{"MLP gate": "mlp.gate_proj", "MLP up": "mlp.up_proj", "MLP down": "mlp.down_proj", "LM head": "lm_head"},
}


def row(name: str, num_query_tokens: int, context_len: int) -> Operator:
    rows = operators(LLAMA_8B, num_query_tokens=num_query_tokens, context_len=context_len)
    return next(row for row in rows if row.name == name)


@pytest.mark.parametrize("weight_bits", [32, 16, 8, 4])
@pytest.mark.parametrize(("num_query_tokens", "context_len"), [(1, 1), (1, 5000), (700, 700), (16, 3000)])
def test_the_rows_add_up_to_the_pass(weight_bits: int, num_query_tokens: int, context_len: int) -> None:
    size = {"num_query_tokens": num_query_tokens, "context_len": context_len, "batch_size": 3}
    for model_id, model in MODELS.items():
        spec = in_precision(model, weight_bits)
        rows = operators(spec, **size)
        whole = forward_work(spec, **size)
        for field in dataclasses.fields(Work):
            total = sum(getattr(row.work, field.name) for row in rows)
            assert total == pytest.approx(getattr(whole, field.name), rel=1e-12), (model_id, field.name)
        assert len({row.name for row in rows}) == len(rows), model_id


@pytest.mark.parametrize("batch_size", [1, 2])
@pytest.mark.parametrize("num_tokens", [1, 10])
def test_flops_are_those_torch_counts_in_each_module(batch_size: int, num_tokens: int) -> None:
    engine = Engine.load("random:tiny")
    model, cache = engine.model, engine.new_cache()
    model.set_attn_implementation("eager")
    prompt = torch.zeros((batch_size, 10), dtype=torch.long)
    with torch.no_grad():
        if num_tokens == 1:
            model(prompt, cache=cache, use_cache=True, logits_to_keep=1)
        with FlopCounterMode(display=False) as counter:
            model(prompt[:, :num_tokens], cache=cache, use_cache=True, logits_to_keep=1)
    counts: dict[str, int] = defaultdict(int)
    for path, flops in counter.get_flop_counts().items():
        counts[".".join(path.split(".")[-2:])] += sum(flops.values())
        counts[path.split(".")[-1]] += sum(flops.values())
    context_len = 10 if num_tokens == 10 else 11
    rows = {
        row.name: row.work.flops
        for row in operators(
            engine.spec, num_query_tokens=num_tokens, context_len=context_len, batch_size=batch_size
        )
    }
    linear = sum(rows[name] for name in MODULES if name.endswith("projection"))
    for name, module in MODULES.items():
        assert rows.pop(name) == counts[module] > 0, name
    # the counter sees scores and values in the attention module, beside its projections; eager attention also
    # computes the pairs that the mask throws away
    masked = num_tokens * (num_tokens - 1) // 2
    spec = engine.spec
    thrown_away = batch_size * 4 * spec.num_layers * spec.num_query_heads * spec.head_dim * masked
    assert rows == {"scores and values": counts["self_attn"] - linear - thrown_away}


@pytest.mark.parametrize(("name", "ridge_tokens"), [("MLP gate", 325), ("key projection", 462)])
def test_one_matrix_of_the_8b_becomes_compute_bound_on_an_h100_from_this_many_tokens_on(
    name: str, ridge_tokens: int
) -> None:
    for num_tokens, bound in ((ridge_tokens - 1, "memory"), (ridge_tokens + 1, "compute")):
        assert row(name, num_tokens, num_tokens).bound(**ROOFS) == bound


def test_intensity_of_one_matrix_by_hand() -> None:
    # 4,096 inputs, 14,336 outputs, 2 bytes each; 100 tokens
    flops = 2 * 100 * 4096 * 14_336
    size = 2 * (4096 * 14_336 + 100 * (4096 + 14_336))
    assert row("MLP gate", 100, 100).work.intensity == pytest.approx(flops / size)
    # without the activations it would be 2n/b = 100
    assert 95 < row("MLP gate", 100, 100).work.intensity < 100


@pytest.mark.parametrize(("model_id", "intensity"), [("llama-2-7b", 1), ("llama-3.1-8b", 4), ("llama-3.1-70b", 8)])
def test_decode_attention_has_as_many_flops_per_byte_as_query_heads_share_a_kv_head(
    model_id: str, intensity: float
) -> None:
    rows = operators(MODELS[model_id], num_query_tokens=1, context_len=100_000, batch_size=64)
    attention = next(row for row in rows if row.name == "scores and values")
    assert attention.work.intensity == pytest.approx(intensity, rel=1e-3)
    assert attention.bound(**ROOFS) == "memory"


def test_a_row_takes_the_longer_of_its_two_times_and_the_shares_add_up() -> None:
    fast = Operator("a", "MLP", Work(300, 10, 0, 0, 0))  # 300 FLOP at 100/s, 10 bytes at 10/s: 3 s and 1 s
    slow = Operator("b", "MLP", Work(100, 40, 20, 5, 5))  # 1 s and 7 s
    roofs = {"bandwidth": 10.0, "flops": 100.0}
    assert (fast.time_s(**roofs), slow.time_s(**roofs)) == (3, 7)
    assert (fast.bound(**roofs), slow.bound(**roofs)) == ("compute", "memory")
    assert shares((fast, slow), **roofs) == (0.3, 0.7)


def test_weights_below_sixteen_bits_keep_a_sixteen_bit_cache_and_arithmetic() -> None:
    assert kv_bytes_per_token(in_precision(LLAMA_8B, 4)) == kv_bytes_per_token(LLAMA_8B)
    assert kv_bytes_per_token(in_precision(LLAMA_8B, 32)) == 2 * kv_bytes_per_token(LLAMA_8B)
    assert [arithmetic_dtype(H100, bits) for bits in (32, 16, 8, 4)] == ["float32"] + 3 * ["bfloat16"]
    assert arithmetic_dtype(hardware()["t4"], 4) == "float16"


def test_weights_without_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="got 0; choose"):
        in_precision(LLAMA_8B, 0)
