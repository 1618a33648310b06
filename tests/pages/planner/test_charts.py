"""The planner's words and figures: what they say of plans whose numbers are known."""

import re
from dataclasses import replace

import pytest

from inference.catalogue import hardware, models
from inference.planner.options.options import options
from inference.planner.own.machine_link import typed_machine
from inference.planner.published.error import predictions
from inference.planner.ranking import curve, ordered, rank
from inference.planner.settings import PlanSettings, make
from pages.charts import palette
from pages.charts.planner.curve import throughput
from pages.charts.planner.error import agreement, hover
from pages.charts.planner.rank import ranking
from pages.charts.planner.request_time import request_time
from pages.ui.planner import fields
from pages.ui.planner.answer import answer
from pages.ui.planner.form import by_label
from pages.ui.planner.ledger import ledger
from pages.ui.planner.views.cache import table as cache_table
from pages.ui.planner.views.hardware import ranks_of
from pages.ui.planner.views.options import table as options_table

EXAMPLE = make(PlanSettings())
LARGE = make(PlanSettings("llama-3.1-70b"))


def test_the_answer_has_the_worked_example_beside_what_to_expect() -> None:
    shown = {number.label: number for number in answer(EXAMPLE).numbers}
    assert {name: one.best.removeprefix("at best ") for name, one in shown.items()} == {
        "TTFT, no queue": "30.0 ms",
        "ITL": "4.56 ms first, 4.57 ms halfway",
        "TPS per user": "219 tok/s",
        "TPS in all": "216 tok/s",
        "E2E, no queue": "2.31 s",
    }
    assert {name: one.phase for name, one in shown.items() if one.phase} == {
        "TTFT, no queue": "prefill",
        "ITL": "decode",
        "TPS per user": "decode",
    }


def test_no_error_stands_beside_a_number_outside_what_was_checked() -> None:
    outside = answer(make(PlanSettings("mixtral-8x7b", tensor_parallel=2)))
    assert {one.tolerance for one in outside.numbers} == {"not checked"}
    assert outside.warnings


def test_an_answer_of_one_token_has_no_gap() -> None:
    numbers = {one.label: one for one in answer(make(PlanSettings(output_tokens=1))).numbers}
    assert numbers["ITL"].value == numbers["TPS per user"].value == "none"
    assert numbers["TTFT, no queue"].value == numbers["E2E, no queue"].value


def test_an_error_says_of_what_it_is_and_a_number_without_rows_that_it_was_not_checked() -> None:
    alone = {one.label: one.tolerance for one in answer(EXAMPLE).numbers}
    error = r"median error \d+(\.\d+)? %, \d+ rows"
    assert re.fullmatch(f"one prefill alone: {error}", alone["TTFT, no queue"])
    assert re.fullmatch(f"one step alone: {error}", alone["ITL"])
    assert alone["TPS in all"] == alone["E2E, no queue"] == "requests alone: not checked"
    many = {one.label: one.tolerance for one in answer(make(PlanSettings(concurrency=16))).numbers}
    assert many["ITL"].startswith("one step of a batch: ")
    assert many["TTFT, no queue"].startswith("not checked among others; one prefill alone")
    assert many["TPS per user"].startswith("not checked among others; one step of a batch")
    assert "alone" not in many["TPS in all"]


def test_the_screen_says_that_no_queue_is_counted_and_what_hardly_any_row_had() -> None:
    said = " ".join(answer(EXAMPLE).words)
    assert "No queue is counted" in said
    assert "say little of a server with many users" in said


@pytest.mark.parametrize(
    ("model", "bits", "words"),
    [
        ("gpt-oss-20b", 16, "published in MXFP4"),
        ("deepseek-v3", 16, "published in FP8"),
        ("deepseek-v3", 8, ""),
        ("llama-3.1-8b", 16, ""),
    ],
)
def test_a_model_published_in_fewer_bits_than_the_plan_counts_is_named(model: str, bits: float, words: str) -> None:
    said = " ".join(answer(make(PlanSettings(model, weight_bits=bits))).words)
    assert ("is published in" in said) == bool(words)
    assert words in said


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (PlanSettings(), "some 10.5 GB, which is left."),  # a tenth of 80 GB and 2.5 GB; 63.6 GB are left
        (PlanSettings("llama-3.1-70b", tensor_parallel=2), "some 21.0 GB, more than is left"),  # 18 of 160
        (PlanSettings("llama-3.1-8b", hardware="m4-max", engine="llama.cpp"), "macOS keeps about a quarter"),
    ],
)
def test_what_fits_by_the_label_may_not_fit_beside_an_engine(asked: PlanSettings, words: str) -> None:
    assert words in ledger(make(asked), None).sentence


def test_energy_is_that_of_the_accelerators() -> None:
    card = ledger(EXAMPLE, None)
    assert "accelerators' energy, 1M tokens in / out" in {one.label for one in card.figures}
    assert "a whole server draws about 1.8 times that" in card.sentence


def test_a_step_that_the_layers_clock_sets_waits_for_what_a_layer_costs_beside_its_work() -> None:
    eager = " ".join(answer(make(PlanSettings(engine="eager"))).words)
    assert "go to what each layer costs beside bytes and FLOPs" in eager


def test_the_answer_says_what_the_work_is_heavy_in_and_what_each_phase_waits_for() -> None:
    said = " ".join(answer(EXAMPLE).words)
    assert "Decode-heavy: 98" in said
    assert "Prefill is compute-bound" in said
    assert "A decode step is memory-bound" in said
    heavy = make(PlanSettings(prompt_tokens=16_000, output_tokens=40, concurrency=32))
    assert " ".join(answer(heavy).words).startswith("Prefill-heavy: 9")


def test_the_prompts_of_all_stages_of_a_pipeline_are_counted() -> None:
    said = answer(make(PlanSettings(concurrency=8, pipeline_parallel=4))).words[0]
    assert "because 8 prompts of 2,048 tokens" in said
    assert "the stages at work on different ones" in said


def test_a_message_has_the_words_of_the_form() -> None:
    assert by_label("bandwidth_share must be from 0.01 to 1, got 2") == (
        "share of the bandwidth must be from 0.01 to 1, got 2"
    )
    assert by_label("num_hidden_layers must be from 1 to 1,000") == "num_hidden_layers must be from 1 to 1,000"


def test_what_does_not_fit_is_said_beside_the_numbers_and_nothing_is_when_it_does() -> None:
    # 141.1 GB of weights and 2,548 x 327,680 bytes of cache in 80 GB
    assert answer(LARGE).missing.startswith(
        "It does not fit: 61.9 GB are missing in one accelerator; tensor parallel"
    )
    assert "parallelism of 2 is the smallest" in answer(LARGE).missing
    assert answer(EXAMPLE).missing == ""


def test_the_ledger_adds_up_to_the_memory_and_has_a_price_only_where_one_is_known() -> None:
    figures = {one.label: one.value for one in ledger(EXAMPLE, None).figures}
    assert (figures["weights"], figures["KV caches"], figures["left of 80.0 GB"]) == (
        "16.1 GB",
        "334 MB",
        "63.6 GB",
    )
    assert figures["conversations fit"] == "191"
    assert "cost of 1M tokens in / out" not in figures
    assert "cost of 1M tokens in / out" in {one.label for one in ledger(EXAMPLE, 2.5).figures}
    unknown = make(PlanSettings(own_hardware=typed_machine("M", {"bandwidth_gb_s": 99, "tflops_16bit": 9})))
    assert "How much memory it has is not known here" in ledger(unknown, None).sentence


def test_each_bar_of_the_request_is_whole_and_estimates_are_hatched_in_their_phase() -> None:
    for made in (EXAMPLE, make(PlanSettings(concurrency=24, tensor_parallel=2, output_tokens=1))):
        chart = request_time(made)
        for row in (0, 1, 2):
            assert sum(bar.x[0] for bar in chart.data if bar.y[0] == row) == pytest.approx(1)
    phases = {bar.name: bar.marker.pattern for bar in request_time(EXAMPLE).data if bar.y[0] == 2}
    assert phases["prefill"].fgcolor == palette.PREFILL
    assert phases["decode"].fgcolor == palette.DECODE
    assert all(pattern.shape for pattern in phases.values())


def test_the_curve_ends_where_the_memory_does() -> None:
    made = make(PlanSettings(concurrency=8))
    chart = throughput(curve(made.spec, made.hardware, made.workload, made.deployment), made)
    fits, full, own = chart.data
    assert fits.line.dash == "dash"
    assert full.x[0] == fits.x[-1]
    assert (own.x[0], own.y[0]) == (made.tps_per_user, made.tps_total)
    assert "memory is full after 191" in [note.text for note in chart.layout.annotations]


def test_nothing_that_fits_draws_a_curve_all_the_same() -> None:
    chart = throughput(curve(LARGE.spec, LARGE.hardware, LARGE.workload, LARGE.deployment), LARGE)
    assert len(chart.data[0].x) == 0
    assert len(chart.data[1].x) == 2


def test_machines_are_ranked_with_what_decides_and_the_plans_own_is_marked() -> None:
    evil = replace(hardware()["h100-sxm-80gb"], id="own", name="<img src=x>")
    ranks = rank(EXAMPLE.spec, EXAMPLE.workload, EXAMPLE.deployment, [*hardware().values(), evil])
    chart = ranking(ordered(ranks, "ITL"), "ITL", "own")
    (bars,) = chart.data
    assert list(bars.x) == sorted(bars.x, reverse=True)
    texts = [note.text for note in chart.layout.annotations]
    assert "<b>&lt;img src=x&gt;</b>" in texts
    assert any(text.endswith("· bandwidth") for text in texts)


def test_the_plans_own_machine_is_ranked_by_the_plans_own_values() -> None:
    made = make(PlanSettings(bandwidth_share=0.3))
    usual = {one.hardware.id: one.plan for one in ranks_of(EXAMPLE)}
    found = {one.hardware.id: one.plan for one in ranks_of(made)}
    assert found.pop(made.hardware.id) == made
    assert usual.pop(made.hardware.id) == EXAMPLE
    assert found == usual
    (split,) = [one.plan for one in ranks_of(LARGE) if one.hardware == LARGE.hardware]
    assert split is not None
    assert split.e2e_s == make(PlanSettings("llama-3.1-70b", tensor_parallel=2)).e2e_s


def test_every_published_row_is_a_point_with_its_source() -> None:
    chart = agreement(predictions())
    points = [trace for trace in chart.data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in points) == len(predictions())
    assert sum(len(trace.x) for trace in points if trace.name.endswith("held back")) == sum(
        each.is_held_back for each in predictions()
    )
    (equal,) = [trace for trace in chart.data if trace.mode == "lines"]
    assert list(equal.x) == list(equal.y)
    assert all(each.run.source.split()[0] in hover(each) for each in predictions() if "<" not in each.run.source)


def test_the_batch_whose_caches_outweigh_the_weights() -> None:
    # The published table, at 16 bits: 4K, 8K, 32K, 64K and 128K, as far as each model's own context goes.
    names = (
        "llama-3.1-8b",
        "llama-2-7b",
        "llama-3.1-70b",
        "qwen3-8b",
        "mixtral-8x7b",
        "gemma-3-27b",
        "deepseek-v3",
    )
    rows = {row[0]: row[2:] for row in cache_table([models()[name] for name in names]).rows}
    assert list(rows.values()) == [
        ["122,532", "30", "15", "4", "2", "1"],
        ["25,705", "7", "", "", "", ""],
        ["430,626", "106", "53", "14", "7", "4"],
        ["111,094", "28", "14", "4", "", ""],
        ["712,628", "174", "87", "22", "", ""],
        ["654,083", "70", "49", "18", "10", "5"],
        ["19,097,974", "4,663", "2,332", "583", "292", "146"],
    ]


def test_an_optimisation_that_does_nothing_here_is_in_the_table_too() -> None:
    rows = options_table(options(EXAMPLE)).rows
    assert ["Continuous batching", "nothing here", "", "", ""] in rows
    # (1 - 0.8^5) / 0.2 tokens a pass
    assert [
        "Speculative decoding",
        "Tokens per pass",
        "1.00 tokens per pass",
        "3.36 tokens per pass",
        "3.36 times",
    ] in rows


def test_a_form_spells_any_model_or_keeps_the_one_the_link_brought() -> None:
    for name, model in models().items():
        values = fields.shape_values(model)
        if values["model"] == fields.NUMBERS:
            assert replace(fields.typed_model(values), id=name, source=model.source) == model
        else:
            assert values == {"model": fields.LINKED}, name


def test_a_plain_model_can_be_edited_again_and_a_windowed_one_cannot() -> None:
    chosen = {name: fields.shape_values(models()[name])["model"] for name in ("llama-3.1-8b", "mixtral-8x7b")}
    assert set(chosen.values()) == {fields.NUMBERS}
    for name in ("gemma-3-27b", "deepseek-v3", "qwen2.5-7b"):  # windows, latent attention, biases
        assert fields.shape_values(models()[name])["model"] == fields.LINKED
