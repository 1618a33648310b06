"""The clock of eager stacks against the numbers their sources print."""

import pytest

from inference.files.safe_yaml import read_yaml
from inference.planner.published import runs as published
from inference.planner.published.layer_clock import Contrast, rows
from inference.planner.published.runs import fitting_runs, held_back, shown_runs

BY_ID = {row.run.id: row for row in rows()}


def test_every_usable_row_of_an_eager_stack_is_there_and_no_other() -> None:
    published_rows = read_yaml(published.FILE)
    eager = {row["id"] for row in published_rows if "eager" in row["engine"].lower() and row["use"] != "outlier"}
    assert BY_ID.keys() == eager


# Milliseconds per layer and at the roofline as worked out from the sources: seconds over layers, 16-bit weights and
# cache over bandwidth.
@pytest.mark.parametrize(
    ("run_id", "layers", "layer_ms", "floor_ms"),
    [
        ("qw25-a100-0.5b-hf", 24, 0.88, 0.49),
        ("qw25-a100-1.5b-hf", 28, 0.90, 1.5),
        ("qw25-a100-7b-hf", 28, 0.88, 6.9),
        ("qw25-a100-14b-hf", 48, 0.84, 13.8),
        ("qw3-h20-0.6b-hf", 28, 0.61, 0.33),
        ("qw3-h20-32b-hf", 64, 0.60, 16.1),
        ("bnb-h100-8b-b1", 32, 0.76, 4.5),
        ("bnb-h100-8b-b32", 32, 0.82, 4.5),
        ("bnb-h100-32b-b1", 64, 0.79, 19.1),
        ("bnb-4090-8b-b1", 32, 0.66, 14.9),
        ("bnb-t4-3b-b1", 36, 1.08, 19.3),
        ("omni-a800-q7b-eager", 28, 0.80, 6.9),
        ("litgpt-a100-7b-eager", 32, 0.76, 8.5),
    ],
)
def test_milliseconds_per_layer(run_id: str, layers: int, layer_ms: float, floor_ms: float) -> None:
    row = BY_ID[run_id]
    assert row.run.spec.num_layers == layers
    assert row.layer_s * 1e3 == pytest.approx(layer_ms, abs=0.006)
    assert row.floor_s * 1e3 == pytest.approx(floor_ms, rel=0.02)
    assert row.run.source


def test_a_long_prompt_hides_the_clock_and_a_short_one_does_not() -> None:
    short, long = BY_ID["stas-b200-1b-512-eager"], BY_ID["stas-b200-8b-8192-eager"]
    assert short.run.kind == long.run.kind == "prefill"
    assert short.times_floor > 5
    assert long.times_floor < 3


def test_time_follows_the_layers_and_not_the_parameters() -> None:
    a100 = Contrast(BY_ID["qw25-a100-0.5b-hf"], BY_ID["qw25-a100-14b-hf"])
    h100 = Contrast(BY_ID["bnb-h100-8b-b1"], BY_ID["bnb-h100-32b-b1"])
    h20 = Contrast(
        BY_ID["qw3-h20-0.6b-hf"], BY_ID["qw3-h20-32b-hf"]
    )  # Qwen3 of 0.6B and 32B: 28 and 64 layers, 58.57 and 26.24 tokens/s
    assert h20.params_ratio > 40
    assert h20.layers_ratio == pytest.approx(64 / 28)
    assert h20.seconds_ratio == pytest.approx(58.57 / 26.24)
    for contrast in (a100, h20, h100):
        assert contrast.seconds_ratio == pytest.approx(contrast.layers_ratio, rel=0.1)
        assert contrast.seconds_ratio < contrast.params_ratio / 1.9


def test_rows_the_planner_was_not_fitted_to_are_marked() -> None:
    marked = {run_id for run_id, row in BY_ID.items() if row.is_held_back}
    assert marked == BY_ID.keys() - {run.id for run in fitting_runs()}
    assert marked == (BY_ID.keys() & held_back()) | {run.id for run in shown_runs()}


def test_7b_takes_nearly_the_time_of_half_a_billion_on_an_a100() -> None:
    small, large = BY_ID["qw25-a100-0.5b-hf"], BY_ID["qw25-a100-7b-hf"]  # 47.40 and 40.38 tokens/s, as printed
    assert large.run.seconds / small.run.seconds == pytest.approx(47.40 / 40.38)
    assert large.run.spec.total_params > 14 * small.run.spec.total_params
