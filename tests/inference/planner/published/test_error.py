"""The planner held against published measurements it was not fitted to."""

from pathlib import Path

import pytest
import yaml

from inference.catalogue import hardware, models
from inference.catalogue.rows import checked, load
from inference.files.safe_yaml import read_yaml
from inference.planner import efficiency
from inference.planner.published import runs as published
from inference.planner.published.error import predicted_s, predictions, select, summary
from inference.planner.published.runs import RunRow, fitting_runs, held_back, published_runs

RUNS = {run.id: run for run in published_runs()}
ROWS = {row["id"]: row for row in read_yaml(published.FILE)}


def test_a_third_is_held_back_and_none_of_it_is_fitted_to() -> None:
    assert len(held_back()) == pytest.approx(len(RUNS) / 3, abs=1)
    assert {run.id for run in fitting_runs()} == RUNS.keys() - held_back()


def test_decode_of_one_sequence_is_within_its_promise_on_the_rows_held_back() -> None:
    found = summary(select("decode", is_held_back=True, batch_size=1))
    assert found.count >= 25
    assert found.median < 0.10
    assert found.within_30 >= 0.90


def test_prefill_is_within_its_promise_on_the_rows_held_back() -> None:
    found = summary(select("prefill", is_held_back=True))
    assert found.count >= 7
    assert found.median < 0.18


def worked_out(key: str) -> dict[str, float]:
    """What stands beside each usable row under this key, by id."""
    return {id: ROWS[id]["computed"][key] for id in RUNS if key in ROWS[id]["computed"]}


def test_a_row_has_the_time_worked_out_beside_it() -> None:
    steps = {id: ms / 1e3 for id, ms in worked_out("step_ms").items() if ROWS[id]["metric"] != "mbu"}
    steps = {id: step_s for id, step_s in steps.items() if RUNS[id].kind == "decode"}
    requests = {id: request_s for id, request_s in worked_out("request_s").items() if RUNS[id].kind == "request"}
    assert len(steps) >= 80
    assert len(requests) >= 5
    for id, expected_s in (steps | requests).items():
        assert RUNS[id].seconds == pytest.approx(expected_s, rel=0.002), id


def test_the_bytes_of_a_step_are_those_worked_out_beside_the_row() -> None:
    dense = {id: gigabytes for id, gigabytes in worked_out("weights_gb_read").items() if not RUNS[id].spec.moe}
    assert len(dense) >= 75
    for id, gigabytes in dense.items():
        by_hand = RUNS[id].spec.matmul_params * RUNS[id].spec.weight_bits / 8  # all but the input embedding
        assert by_hand / 1e9 == pytest.approx(gigabytes, rel=0.003), id


def test_rows_without_a_shape_a_peak_or_a_condition_are_not_used() -> None:
    unused = ROWS.keys() - RUNS.keys()
    known = models().keys()
    for row in (ROWS[each] for each in unused):
        has_peak = row["hardware"] in hardware() or row.get("hw_fp16_tflops")
        assert row["use"] in ("context", "outlier", "shown") or row["model"] not in known or not has_peak


def test_the_engine_of_every_row_is_in_a_class() -> None:
    engines = {run.engine_name: run.engine for run in RUNS.values()}
    assert engines["vLLM, eager"] == "eager"
    assert engines["vLLM, CUDA graphs"] == "serving"
    assert engines["litgpt eager"] == "eager"
    assert engines["Hazy Research megakernel"] == "megakernel"
    assert engines["vllm-mlx"] == "llama.cpp"


def test_each_row_is_predicted_once_under_the_defaults() -> None:
    assert [each.run.id for each in predictions()] == list(RUNS)
    for each in predictions():
        assert each.predicted_s == predicted_s(each.run)


def test_no_row_has_no_error() -> None:
    with pytest.raises(ValueError, match="no published row was chosen"):
        summary([])


@pytest.mark.slow
def test_the_shares_are_what_a_fit_to_the_other_rows_gives() -> None:
    from benchmarks.fit_planner import written  # noqa: PLC0415  (loads scipy)

    kept = read_yaml(efficiency.FILE)
    fresh = written(fitting_runs())
    assert fresh["all_reduce_s"] == pytest.approx(kept["all_reduce_s"], rel=0.02)
    for engine, row in kept["engines"].items():
        for name, values in {"general": row["general"], **row["families"]}.items():
            again = fresh["engines"][engine]
            found = again["general"] if name == "general" else again["families"][name]
            assert found == pytest.approx(values, rel=0.02), (engine, name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": 0}, "value: Input should be greater than 0, got 0"),
        ({"metric": "tok_s"}, "metric: Input should be 'decode_tok_s_per_seq', .*, got 'tok_s'"),
        ({"batch": None, "use": "check"}, "batch must be given in a row of use check; give it or use context"),
        ({"hardware": "abacus"}, "hw_bandwidth_gb_s must be given"),
        ({"tokens": 5}, "unknown tokens"),
    ],
)
def test_a_slip_in_a_published_row_is_refused_by_file_row_and_key(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump([ROWS["gf-a100-l2-70b-int8"] | change]), encoding="utf-8")
    with pytest.raises(ValueError, match=f"odd.yaml: gf-a100-l2-70b-int8: {message}"):
        load(path, RunRow)


def test_a_slip_in_the_fitted_shares_is_refused_by_engine_and_key() -> None:
    fitted = read_yaml(efficiency.FILE)
    fitted["engines"]["eager"]["general"] |= {"bandwidth_share": 1.5}
    with pytest.raises(ValueError, match=r"odd: engines: eager: bandwidth_share must be .* at most 1, got 1\.5"):
        checked(efficiency.Fit, fitted, "odd")
    fitted["engines"]["eager"]["general"] |= {"speed": 1}
    with pytest.raises(ValueError, match=r"odd: unknown engines\.eager\.general\.speed"):
        checked(efficiency.Fit, fitted, "odd")
