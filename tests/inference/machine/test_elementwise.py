"""The twin without products: what is left of a layer, in the model's own widths."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from inference.engine import Engine
from inference.jobs.bounded import Budget, Climb, TimedSize
from inference.jobs.drive import drained
from inference.machine.elementwise import _without_products, seconds_per_value, values


@pytest.fixture(params=["tiny", "gpt2-like"])
def engine(request: pytest.FixtureRequest, tiny: Engine) -> Engine:
    if request.param == "tiny":
        return tiny
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415

    config = GPT2Config(n_layer=2, n_embd=32, n_head=4, vocab_size=tiny.spec.vocab_size, n_positions=512)
    return Engine(GPT2LMHeadModel(config), tiny.tokenizer, name="gpt2", revision="", has_random_weights=True)


def test_the_twin_does_no_product_and_keeps_the_widths(engine: Engine) -> None:
    twin = _without_products(engine)
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        logits = twin(torch.ones(1, 7, dtype=torch.long), use_cache=False).logits
    rotary = {name for name in counter.get_flop_counts() if "rotary" in name}
    assert counter.get_total_flops() == sum(sum(counter.get_flop_counts()[name].values()) for name in rotary)
    assert logits.shape == (1, 7, 16)
    norms = [parameter for name, parameter in twin.named_parameters() if "norm" in name or "ln_" in name]
    assert norms
    assert {parameter.shape[0] for parameter in norms} == {engine.spec.hidden_size}


@pytest.mark.measures
def test_its_time_is_measured_with_the_fraction_done(engine: Engine) -> None:
    climb, fractions = drained(values(engine, Budget(30.0, 10.0)))
    seconds = seconds_per_value(climb)
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] < 1
    has_grown = climb.timed[-1].best_s > climb.timed[0].best_s  # else other programs took more than the values did
    assert 0 < seconds < 1e-6 if has_grown else seconds == 0


@pytest.mark.parametrize(
    ("timed", "expected"),
    [
        # 8 ms more for 800 values more
        ((TimedSize(100.0, (0.003, 0.002)), TimedSize(900.0, (0.010, 0.018))), 1e-5),
        ((TimedSize(100.0, (0.002,)),), 0.0),
        ((TimedSize(100.0, (0.002,)), TimedSize(900.0, (0.001,))), 0.0),
    ],
)
def test_its_time_is_what_more_values_cost(timed: tuple[TimedSize, ...], expected: float) -> None:
    assert seconds_per_value(Climb(timed)) == pytest.approx(expected)
