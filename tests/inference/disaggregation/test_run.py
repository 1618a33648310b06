"""Requests served by two processes: refused when they cannot be, equal to plain greedy, and accounted for once."""

import re
import shutil
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from inference.arithmetic.metrics import itl_s, ttft_s
from inference.disaggregation.fleet_check import check
from inference.disaggregation.job import comparison_job
from inference.disaggregation.records import (
    PRESETS,
    Arrangement,
    ArrangementComparison,
    ArrangementRun,
    ClientRequest,
    WorkerPass,
    gaps,
    requests,
    scenario,
    tokens,
)
from inference.disaggregation.wire import prompt_ids
from inference.engine import Engine
from inference.jobs.drive import drained
from inference.jobs.limits import Limits

ASKS = (ClientRequest(0.0, 12, 9), ClientRequest(0.0, 8, 5), ClientRequest(0.05, 100, 3), ClientRequest(0.1, 6, 1))


@pytest.fixture(scope="module")
def found(tiny: Engine) -> ArrangementComparison:
    comparison, reports = drained(comparison_job(ASKS).begin(tiny, Limits()))
    fractions = [report.fraction for report in reports]
    assert fractions == sorted(fractions)
    assert fractions[-1] <= 1
    return comparison


def greedy(engine: Engine, place: int, ask: ClientRequest) -> tuple[int, ...]:
    """What transformers generates, whatever the token."""
    ids = torch.tensor([prompt_ids(place, ask.prompt_tokens)])
    output = engine.model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=ask.output_tokens,
        do_sample=False,
        eos_token_id=None,
    )
    return tuple(output[0, ask.prompt_tokens :].tolist())


@pytest.mark.slow
@pytest.mark.parametrize("arrangement", ["colocated", "disaggregated"])
def test_every_request_gets_exactly_its_tokens_and_those_of_plain_greedy(
    tiny: Engine, found: ArrangementComparison, arrangement: Arrangement
) -> None:
    served = found.of(arrangement)
    assert served
    assert tokens(served) == {place: greedy(tiny, place, ask) for place, ask in enumerate(ASKS)}
    prefills = [one for one in served.passes if one.phase == "prefill"]
    assert sorted(place for one in prefills for place in one.asks) == [0, 1, 2, 3]


@pytest.mark.slow
def test_each_worker_keeps_to_its_phase_when_they_are_apart(found: ArrangementComparison) -> None:
    apart, together = found.of("disaggregated"), found.of("colocated")
    assert apart
    assert together
    assert {(one.worker, one.phase) for one in apart.passes} == {(0, "prefill"), (1, "decode")}
    assert {one.worker for one in together.passes if one.phase == "prefill"} == {0, 1}
    assert not together.transfers


@pytest.mark.slow
def test_the_caches_that_are_sent_have_the_formulas_bytes(tiny: Engine, found: ArrangementComparison) -> None:
    served = found.of("disaggregated")
    assert served
    per_token = 2 * 2 * 2 * 8 * 4  # keys and values, layers, KV heads, head_dim, bytes of a float32
    assert {one.ask: one.num_bytes for one in served.transfers} == {
        place: ask.prompt_tokens * per_token for place, ask in enumerate(ASKS) if ask.output_tokens > 1
    }
    for one in served.transfers:
        prefill = next(p for p in served.passes if p.phase == "prefill" and p.asks == (one.ask,))
        first = next(p for p in served.passes if p.phase == "decode" and one.ask in p.asks)
        assert prefill.end_s <= one.start_s <= one.end_s <= first.start_s


@pytest.mark.slow
def test_a_worker_runs_one_pass_at_a_time_and_none_before_its_request(found: ArrangementComparison) -> None:
    for served in found.served:
        for worker in (0, 1):
            mine = [one for one in served.passes if one.worker == worker]
            assert all(one.start_s <= one.end_s for one in mine)
            assert all(one.end_s <= after.start_s for one, after in pairwise(mine))
        for place, request in requests(served, ASKS).items():
            assert ttft_s(request) > 0
            assert request.num_output_tokens == ASKS[place].output_tokens


@pytest.mark.slow
def test_the_simulation_is_held_against_the_run_with_its_error(found: ArrangementComparison) -> None:
    checked = check(found, bytes_per_token=256)
    assert [(one.arrangement, one.name) for one in checked] == [
        (arrangement, name)
        for arrangement in ("colocated", "disaggregated")
        for name in ("mean TTFT", "ITL p50", "ITL p95", "ITL p99", "time for all")
    ]
    for one in checked:
        assert one.measured_s > 0
        assert one.error == pytest.approx((one.simulated_s - one.measured_s) / one.measured_s)
    assert not check(replace(found, served=(replace(found.served[0], passes=found.served[0].passes[:3]),)), 256)


@pytest.mark.slow
def test_passes_are_timed_in_the_processes_before_the_requests_come(found: ArrangementComparison) -> None:
    assert [length for length, _ in found.step_times.prefill] == [16, 64, 100, 256]
    assert [batch for batch, _ in found.step_times.decode] == [1, 2, 4, 8]
    assert all(seconds > 0 for _, seconds in (*found.step_times.prefill, *found.step_times.decode))


@pytest.mark.real_model
def test_the_default_model_answers_the_same_both_ways_as_plain_greedy(real: Engine) -> None:
    asks = (ClientRequest(0.0, 20, 12), ClientRequest(0.0, 9, 8), ClientRequest(0.3, 150, 3))
    comparison, _ = drained(comparison_job(asks).begin(real, Limits()))
    expected = {place: greedy(real, place, ask) for place, ask in enumerate(asks)}
    for served in comparison.served:
        assert tokens(served) == expected, served.arrangement


@pytest.mark.parametrize(
    ("asks", "problem"),
    [
        ((), "1 to 32 requests, got 0"),
        ((ClientRequest(0, 4, 4),) * 200, "1 to 32 requests, got 200"),
        ((ClientRequest(0, 4, 4), ClientRequest(-1.5, 4, 4)), "request 2 arrives at -1.5 s"),
        ((ClientRequest(0, 0, 4),), "0 prompt and 4 output tokens"),
        ((ClientRequest(0, 4, 0),), "4 prompt and 0 output tokens"),
        ((ClientRequest(0, 510, 3),), "needs 513 tokens; the model's context ends at 512"),
    ],
)
def test_requests_that_cannot_be_served_are_refused_before_any_work(
    tiny: Engine, asks: tuple[ClientRequest, ...], problem: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        comparison_job(asks).begin(tiny, Limits())


def test_caches_beyond_the_memory_are_refused_with_their_size(tiny: Engine) -> None:
    with pytest.raises(ValueError, match="would take"):
        comparison_job((ClientRequest(0, 100, 4),)).begin(tiny, replace(Limits(), kv_bytes_per_learner=1000))


def test_a_full_disk_is_told_before_the_weights_are_written(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(".")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1000))
    with pytest.raises(ValueError, match="make room there or set TMPDIR"):
        comparison_job((ClientRequest(0, 4, 4),)).begin(tiny, Limits())


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_fits_the_smallest_model(tiny: Engine, name: str) -> None:
    comparison_job(scenario(name)).begin(tiny, Limits())


def test_gaps_and_requests_are_read_from_the_passes() -> None:
    passes = (
        WorkerPass(0, "prefill", (0,), (7,), 5, 0.1, 0.4),
        WorkerPass(0, "prefill", (1,), (8,), 5, 0.4, 0.7),
        WorkerPass(1, "decode", (0,), (9,), 6, 0.5, 0.9),
        WorkerPass(1, "decode", (0, 1), (3, 4), 7, 0.9, 1.0),
    )
    served, asks = ArrangementRun("disaggregated", passes), (ClientRequest(0.1, 5, 3), ClientRequest(0.2, 5, 2))
    seen = requests(served, asks)
    assert ttft_s(seen[0]) == pytest.approx(0.3)
    assert itl_s(seen[0]) == pytest.approx([0.5, 0.1])
    assert tokens(served) == {0: (7, 9, 3), 1: (8, 4)}
    ((at_s, gap_s),) = gaps(served, 1)
    assert at_s == 1.0
    assert gap_s == pytest.approx(0.3)
