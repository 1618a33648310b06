"""A prediction is held against the run: two runs have two right answers."""

from pathlib import Path
from statistics import median

import pytest

from inference.trace import Trace
from lessons import load_trace
from quizzes import PredictQuestion
from quizzes.kinds.measures import MEASURES
from tests.quizzes.kinds import facts, kinds

__all__ = ["facts"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return load_trace("lighthouse")


@pytest.fixture
def guess(tmp_path: Path, facts: None) -> PredictQuestion:
    question = kinds(tmp_path)["guess"]
    assert isinstance(question, PredictQuestion)
    return question


def test_the_measures_are_those_of_the_trace(trace: Trace) -> None:
    steps, gaps = trace.steps, [step.latency_s for step in trace.steps[1:]]
    expected = {
        "ttft": steps[0].latency_s,
        "median_itl": median(gaps),
        "e2e": steps[0].latency_s + sum(gaps),
        "tps": len(gaps) / sum(gaps),
        "ttft_share": steps[0].latency_s / (steps[0].latency_s + sum(gaps)),
        "prefill_over_decode": steps[0].forward_s / median(step.forward_s for step in steps[1:]),
        "time_per_prompt_token": steps[0].forward_s / len(trace.prompt_tokens),
        "kv_bytes": 2 * 3 * 64 * 30 * 4 * (len(trace.prompt_tokens) + len(steps) - 1),  # float32, 3 KV heads of 64
        "kv_bytes_after_prefill": 2 * 3 * 64 * 30 * 4 * len(trace.prompt_tokens),
        "kv_bytes_per_token": 2 * 3 * 64 * 30 * 4,
        "context_len": len(trace.prompt_tokens) + len(steps) - 1,
        "prompt_tokens": len(trace.prompt_tokens),
        "output_tokens": len(steps),
        "decode_passes": len(steps) - 1,
    }
    assert {name: MEASURES[name].compute(trace) for name in expected} == pytest.approx(expected)
    assert set(MEASURES) - set(expected) == {"prefill_intensity", "decode_intensity"}


def test_prefill_does_more_arithmetic_for_each_byte_than_decode(trace: Trace) -> None:
    prefill, decode = (MEASURES[name].compute(trace) for name in ("prefill_intensity", "decode_intensity"))
    assert decode == pytest.approx(0.5, rel=0.05)  # 2 FLOP for each weight of 4 bytes
    assert prefill > 10 * decode


def test_two_runs_have_two_right_answers(guess: PredictQuestion, trace: Trace) -> None:
    short = trace.until(4)
    right, right_short = guess.right(trace), guess.right(short)
    assert right != right_short
    for run, given, other in ((trace, right, right_short), (short, right_short, right)):
        assert guess.grade(given, run).is_correct is True
        assert guess.grade(other, run).is_correct is False
        assert {guess.grade(wrong, run).is_correct for wrong in guess.wrong(run)} == {False}


def test_the_explanation_quotes_the_learners_numbers_and_the_error(guess: PredictQuestion, trace: Trace) -> None:
    measured = 46_080 * trace.steps[-1].context_len / 1e3
    feedback = guess.grade(f"{measured * 1.5}", trace).feedback
    assert feedback.startswith("You said ")
    assert feedback.endswith("50.0 % too high.")
    assert guess.grade("1 B", trace).feedback.startswith("You said 0.00100 kB")


def test_a_prediction_needs_a_run_and_a_run_long_enough(guess: PredictQuestion, trace: Trace) -> None:
    with pytest.raises(ValueError, match="run the model first"):
        guess.grade("12")
    with pytest.raises(ValueError, match="not a number"):
        guess.grade("lots", trace)
    with pytest.raises(ValueError, match="no decode step yet"):
        MEASURES["median_itl"].compute(trace.until(0))
