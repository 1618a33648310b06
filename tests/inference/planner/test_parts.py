"""Parts of a pass, costs, scope and export of a plan, by hand where a hand can."""

import csv
import io
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.units import seconds
from inference.catalogue import models
from inference.planner import at_best
from inference.planner.efficiency import ENGINES
from inference.planner.export import to_csv, to_markdown
from inference.planner.own.machine import own_efficiency, own_machine
from inference.planner.own.machine_link import typed_machine
from inference.planner.parts import CLOCK, COMPUTE, EXCHANGE, MEMORY, first_step_s, parts
from inference.planner.price import energy_kwh, money
from inference.planner.published.error import select
from inference.planner.published.scope import outside
from inference.planner.published.tolerance import tolerance, tolerance_of
from inference.planner.settings import PlanSettings, make

EVIL = "=HYPERLINK('x')|<img src=x>![a](http://b)"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(list(models())),
    st.sampled_from(ENGINES),
    st.integers(1, 700),
    st.integers(1, 300),
    st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)]),
)
def test_the_parts_of_a_pass_add_up_to_it(
    model: str, engine: str, prompt: int, users: int, split: tuple[int, int]
) -> None:
    ways = split[0] if models()[model].num_query_heads % 2 == 0 else 1
    made = make(
        PlanSettings(
            *(model, "h100-sxm-80gb", prompt, 9, users),
            engine=engine,
            tensor_parallel=ways,
            pipeline_parallel=split[1],
        )
    )
    assert sum(part.seconds for part in parts(made, "prefill")) == pytest.approx(made.prefill_s)
    assert sum(part.seconds for part in parts(made, "decode")) == pytest.approx(made.itl_s)


def test_an_eager_step_hides_its_bytes_behind_the_clock() -> None:
    (clock,) = parts(make(PlanSettings("qwen2.5-0.5b", "a100-sxm4-80gb", engine="eager")), "decode")
    assert clock.name == CLOCK
    assert clock.hidden == MEMORY
    made = make(PlanSettings(tensor_parallel=2))
    assert [part.name for part in parts(made, "prefill")] == [MEMORY, COMPUTE, CLOCK, EXCHANGE]
    assert [part.name for part in parts(at_best(make(PlanSettings())), "prefill")] == [COMPUTE]


def test_the_first_step_of_the_worked_example() -> None:
    # 15.01 GB of weights and 2,049 x 131,072 bytes of cache at 3.35e12 bytes/s; halfway 2,298 tokens: 4.57 ms
    best = at_best(make(PlanSettings()))
    assert first_step_s(best) * 1e3 == pytest.approx(4.56, abs=0.005)
    assert best.itl_s * 1e3 == pytest.approx(4.57, abs=0.005)


def test_a_million_tokens_of_the_worked_example() -> None:
    # At best a round of 30.0 ms and 499 x 4.57 ms: 2.31 s of 700 W are 1,617 J, for 2,048 tokens in and 500 out.
    best = at_best(make(PlanSettings()))
    used, cost = energy_kwh(best), money(best, 3.6)
    assert used is not None
    assert used.input == pytest.approx(0.0300 * 700 / 2048 / 3.6, rel=2e-3)
    assert used.output == pytest.approx(2.281 * 700 / 500 / 3.6, rel=2e-3)
    assert cost.input == pytest.approx(0.0300 * 0.001 / 2048 * 1e6, rel=2e-3)
    assert cost.whole == pytest.approx(0.001 / best.tps_total * 1e6)
    assert 2048 * cost.input + 500 * cost.output == pytest.approx(500 * cost.whole)
    assert energy_kwh(make(PlanSettings(own_hardware=replace(best.hardware, tdp_w=None)))) is None


def test_more_accelerators_cost_more_and_a_batch_less() -> None:
    one, split, many = (
        money(make(asked), 2.0)
        for asked in (PlanSettings(), PlanSettings(tensor_parallel=8), PlanSettings(concurrency=32))
    )
    assert split.whole > one.whole > many.whole


def test_the_tolerance_is_the_error_on_rows_held_back() -> None:
    held = select("decode", is_held_back=True)
    known = tolerance("decode")
    assert known.count == len(held)
    assert sum(each.error <= known.median for each in held) >= len(held) / 2


def test_the_tolerance_of_a_plan_is_over_rows_of_its_engine_and_of_one_sequence_or_several() -> None:
    for engine in ("serving", "eager", "compiled", "llama.cpp"):
        for many in (1, 16):
            rows = [
                each.error
                for each in select("decode", is_held_back=True)
                if each.run.engine == engine and (each.run.batch_size > 1) == (many > 1)
            ]
            known = tolerance_of(make(PlanSettings(engine=engine, concurrency=many)), "decode")
            assert (known is None) == (not rows)
            if known:
                assert known.count == len(rows)
                assert known.median == pytest.approx(median(rows))


def test_the_worked_example_lies_inside_what_was_checked() -> None:
    assert outside(make(PlanSettings())) == ()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (PlanSettings(hardware="mi300x"), "No published prefill or decode of this engine class on AMD"),
        (PlanSettings(concurrency=5000), "5,000 conversations in a step"),
        (PlanSettings(prompt_tokens=100_000), "100,000 prompt tokens"),
        (PlanSettings(pipeline_parallel=2), "Pipeline stages: no published row has them"),
        (PlanSettings(tensor_parallel=32), "Tensor parallelism of 32"),
        (PlanSettings("deepseek-v3"), "Latent attention (MLA): no row"),
        (PlanSettings("mixtral-8x7b"), "A mixture of experts: no row of this engine class"),
        (PlanSettings("gemma-3-27b", engine="eager"), "Sliding windows: no row"),
        (PlanSettings(weight_bits=2), "2-bit weights"),
        (PlanSettings(layer_us=1), "The efficiency values are your own"),
        (PlanSettings(own_hardware=typed_machine("M", {"bandwidth_gb_s": 99, "tflops_16bit": 9})), "class on M:"),
    ],
)
def test_what_nothing_published_stands_behind_is_said(asked: PlanSettings, told: str) -> None:
    assert told in " ".join(outside(make(asked)))


def test_a_measured_machine_is_judged_by_its_own_sweeps() -> None:
    ceilings = Ceilings("A laptop", "float32", 2e10, 2e11, 1e-2, "2026-11-30", 4)
    machine = own_machine(models()["smollm2-135m"], ceilings)
    (told,) = outside(make(PlanSettings("smollm2-135m", own_hardware=machine)))
    assert "its own sweeps do" in told


def test_an_export_says_settings_results_floor_and_sources() -> None:
    asked = PlanSettings(price=2.0)
    made = make(asked)
    rows = {(row["part"], row["name"]): row for row in csv.DictReader(io.StringIO(to_csv(made, asked)))}
    ttft = rows["Results, estimated", "TTFT without a queue"]
    assert (float(ttft["value"]), float(ttft["at_best"])) == (made.ttft_s, at_best(made).ttft_s)
    assert ttft["note"].startswith("one prefill alone: median error")
    assert rows["Settings", "prompt_tokens"]["value"] == "2048"
    assert "published rows of this engine on this hardware" in rows["Efficiency", "bandwidth_share"]["note"]
    assert ("Per million tokens", "cost of output") in rows
    assert f"| TTFT without a queue | {seconds(made.ttft_s)} | 30.0 ms |" in to_markdown(made, asked)


def test_an_export_puts_no_error_beside_a_measured_machine() -> None:
    spec, ceilings = models()["smollm2-135m"], Ceilings("A laptop", "float32", 2e10, 2e11, 1e-2, "2026-11-30", 4)
    machine, measured = own_machine(spec, ceilings), own_efficiency(spec, ceilings)
    asked = PlanSettings("smollm2-135m", engine="eager", own_hardware=machine, measured=measured)
    rows = {row["name"]: row["note"] for row in csv.DictReader(io.StringIO(to_csv(make(asked), asked)))}
    names = ("TTFT without a queue", "TPS per user", "E2E without a queue")
    assert {rows[name] for name in names} == {"not checked"}
    assert rows["bandwidth_share"] == "from the roofs measured on this machine"


def test_a_hostile_name_is_no_formula_and_no_markup() -> None:
    machine = typed_machine(EVIL, {"bandwidth_gb_s": 99, "tflops_16bit": 9})
    asked = PlanSettings(own_hardware=machine, own_model=replace(models()["gpt2"], name=EVIL), prompt_tokens=9)
    made = make(asked)
    for row in csv.reader(io.StringIO(to_csv(made, asked))):
        assert not any(cell.startswith(("=", "+", "@")) for cell in row)
        assert not any(cell.startswith("-") and not cell[1:2].isdigit() for cell in row)
    written = to_markdown(made, asked)
    bare = written.replace("\\<", "").replace("\\[", "").replace("\\]", "")
    for harm in ("<img", "[a", "](", "http://b"):
        assert harm not in bare
    (line,) = [line for line in written.splitlines() if line.startswith("| hardware")]
    assert line.replace("\\|", "").count("|") == 5
