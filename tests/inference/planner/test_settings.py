"""A plan's settings: what they make, and that a link carries all of them and nothing hostile."""

from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.roofline import Ceilings
from inference.catalogue import hardware, models
from inference.planner import at_best, plan
from inference.planner.efficiency import ENGINES, efficiency
from inference.planner.link import from_query, is_plan, to_query
from inference.planner.own.machine import own_efficiency, own_machine
from inference.planner.own.machine_link import typed_machine
from inference.planner.own.shape_link import shape_from_query, shape_query
from inference.planner.settings import PlanSettings, in_full, make

OWN = typed_machine("Mine", {"memory_gb": 80, "bandwidth_gb_s": 3350, "tflops_16bit": 989.4})
CEILINGS = Ceilings("A laptop", "float32", 2e10, 2e11, 1e-2, "2026-11-30", 4)


def opened(asked: PlanSettings) -> PlanSettings:
    """What a link of these settings gives when it is opened."""
    found, problems = from_query(dict(parse_qsl(to_query(asked))))
    assert problems == ()
    return found


def test_the_default_plan_is_the_worked_example() -> None:
    # 30 ms, 4.57 ms, 219 tokens/s and 2.3 s, at best
    best = at_best(make(PlanSettings()))
    assert best.ttft_s == pytest.approx(0.030, abs=5e-5)
    assert best.itl_s == pytest.approx(4.57e-3, abs=5e-6)
    assert best.tps_per_user == pytest.approx(219, abs=0.5)
    assert best.e2e_s == pytest.approx(2.3, abs=0.05)


def test_what_is_left_at_its_default_is_the_fitted_value_to_the_last_bit() -> None:
    for machine in hardware().values():
        for engine in ENGINES:
            plain = PlanSettings(hardware=machine.id, engine=engine, prompt_tokens=10, output_tokens=2)
            assert in_full(in_full(plain)) == in_full(plain)
            if machine.peak_flops or machine.estimated_flops:
                made = make(in_full(plain))
                assert made.efficiency == efficiency(engine, machine)
                assert made.itl_s == plan(made.spec, machine, made.workload, replace(made.deployment)).itl_s


plans = st.builds(
    PlanSettings,
    model=st.sampled_from(list(models())),
    hardware=st.sampled_from([one.id for one in hardware().values() if one.peak_flops]),
    prompt_tokens=st.integers(1, 700),
    output_tokens=st.integers(1, 300),
    concurrency=st.integers(1, 5000),
    weight_bits=st.floats(0.5, 64),
    engine=st.sampled_from(ENGINES),
    bandwidth_share=st.floats(0.01, 1),
    flops_share=st.floats(0.01, 1),
    attention_share=st.floats(0.01, 1),
    layer_us=st.floats(0, 1e4),
    is_overlapped=st.booleans(),
    all_reduce_us=st.floats(0, 1e4),
    link_gb_s=st.floats(0.1, 1e3),
    price=st.none() | st.floats(0, 9999),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(plans)
def test_a_link_carries_all_of_a_plan(asked: PlanSettings) -> None:
    assert make(opened(asked)) == make(asked)
    assert opened(opened(asked)) == opened(asked)
    assert opened(asked).price == asked.price


def test_a_link_carries_the_shape_of_any_model() -> None:
    for spec in models().values():
        carried = shape_from_query(dict(shape_query(spec)))
        assert replace(carried, id=spec.id, source=spec.source) == spec


@pytest.mark.parametrize(
    "machine",
    [
        OWN,
        typed_machine(
            "<b>No memory</b>", {"bandwidth_gb_s": 100.5, "tflops_16bit": 3, "tflops_fp8": 6, "tdp_w": 9}
        ),
    ],
)
def test_a_link_carries_a_machine_of_ones_own(machine: Hardware) -> None:
    assert opened(PlanSettings(own_hardware=machine)).own_hardware == machine


def test_a_link_to_this_machine_gives_its_numbers_anywhere() -> None:
    spec = models()["smollm2-135m"]
    asked = PlanSettings(
        engine="eager",
        weight_bits=32,
        own_hardware=own_machine(spec, CEILINGS),
        own_model=spec,
        measured=own_efficiency(spec, CEILINGS),
    )
    here, there = make(asked), make(opened(asked))
    assert (there.prefill, there.decode) == (here.prefill, here.decode)
    assert there.efficiency == here.efficiency
    assert there.hardware.is_measured


def test_a_name_lends_a_machine_no_published_rows() -> None:
    disguised = typed_machine("a100 of mine", {"bandwidth_gb_s": 100, "tflops_16bit": 3})
    assert make(PlanSettings(own_hardware=disguised)).efficiency.decode_rows == 0


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"model": "<img src=x>"}, "model '<img src=x>' of the link is not known here; llama-3.1-8b is taken"),
        ({"hardware": "h900"}, "hardware 'h900' of the link is not known"),
        ({"engine": "own"}, "engine 'own' of the link is not known"),
        ({"in": "-4"}, "prompt_tokens must be from 1 to 10,000,000, got -4; 2048 is taken"),
        ({"in": "1e3"}, "prompt_tokens must be a whole number from 1 to 10,000,000, got 1000.0"),
        ({"users": "９"}, "concurrency must be a whole number"),
        ({"users": "9" * 5000}, "concurrency must be a whole number"),
        ({"weights": "nan"}, "weight_bits must be from 0.5 to 64 bits, got nan"),
        ({"e": "1_0"}, "bandwidth_share must be a number"),
        ({"price": "-1"}, "price must be from 0"),
        ({"overlap": "2"}, "is_overlapped must be from 0 to 1"),
        ({"model": "own"}, "the model of the link cannot be used, the default is taken: name must be text"),
        ({"hardware": "own", "hw_name": "x", "hw_tflops": "1"}, "bandwidth_gb_s of your own hardware is missing"),
        ({"hardware": "own", "hw_bandwidth": "a", "hw_tflops": "1"}, "hw_bandwidth must be a number, got 'a'"),
        (
            {"hardware": "own", "hw_name": "x" * 99, "hw_bandwidth": "99", "hw_tflops": "1"},
            "name must be text of 1",
        ),
    ],
)
def test_a_wrong_parameter_is_told_and_left_at_its_default(query: dict[str, str], told: str) -> None:
    found, problems = from_query(query)
    assert found == PlanSettings()
    assert told in " ".join(problems)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"layers": "1e9"}, "layers must be a whole number"),
        ({"layers": "0"}, "layers must be from 1 to 1,000, got 0"),
        ({"windows": "0x3"}, "3 layer windows for 32 layers"),
        ({"windows": "0x" + "9" * 4000}, "windows must be a whole number"),
        ({"windows": "-".join(["1x1000"] * 1000)}, "windows must be a whole number from 1 to 1,000"),
        ({"mla": "1-2-3"}, "mla must be 5 whole numbers with hyphens between"),
        ({"moe": "8-9-10-0-0"}, "experts_per_token must be at most num_experts"),
        ({"params": "5"}, "below its matrices' 8,"),
        ({"tied": "yes"}, "tied must be a whole number from 0 to 1"),
        ({"kv_heads": "7"}, "num_query_heads must be a multiple of num_kv_heads"),
    ],
)
def test_a_wrong_shape_is_refused(change: dict[str, str], told: str) -> None:
    shape = dict(shape_query(models()["llama-3.1-8b"])) | change
    found, problems = from_query({"model": "own", **shape})
    assert found.own_model is None
    assert told in problems[0]


def test_a_link_of_a_run_asks_for_no_plan() -> None:
    assert is_plan({"in": "5"})
    assert not is_plan({"key": "x", "class": "y"})
    assert not is_plan({"prompt": "The sky", "model": "SmolLM2", "max": "64"})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"bandwidth_share": 0.0}, "bandwidth_share must be from 0.01 to 1, got 0"),
        ({"layer_us": float("nan")}, "layer_us must be from 0 to 1,000,000 microseconds, got nan"),
        ({"all_reduce_us": -1.0}, "all_reduce_us must be"),
        ({"link_gb_s": 0.0}, "link_gb_s must be from 0.001"),
        ({"price": float("inf")}, "price must be from 0"),
        ({"prompt_tokens": 200_000}, "Llama-3.1-8B takes 131,072. Shorten the prompt or the answer"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_rule(change: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        make(replace(PlanSettings(), **change))  # type: ignore[arg-type]
