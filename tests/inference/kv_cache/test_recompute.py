"""The next token with the KV cache and without it: work, order of the passes, where the two part."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from inference.jobs.drive import drained
from inference.jobs.experiments import Experiments, beginning
from inference.jobs.kept import Kept
from inference.jobs.limits import Limits
from inference.jobs.worker import Worker
from inference.kv_cache.recompute import (
    LENGTHS,
    WITH,
    WITHOUT,
    are_alike,
    crossing,
    pairs,
    ratio,
    recompute_job,
    token_forwards,
)
from inference.machine.sweeps import Setting, Sweep, SweepPoint
from tests.inference.passes import counted

if TYPE_CHECKING:
    from pathlib import Path

    from inference.engine import Engine

pytestmark = pytest.mark.measures

PATIENCE_S = 30


@pytest.mark.parametrize(
    ("prompt_tokens", "new_tokens", "with_cache", "without_cache"),
    [
        (1000, 500, 1_499, 624_750),  # worked by hand
        (8000, 1000, 8_999, 8_499_500),
        (7, 1, 7, 7),  # one token is one prefill either way
        (1, 3, 3, 1 + 2 + 3),
    ],
)
def test_token_forwards_are_the_worked_numbers(
    prompt_tokens: int, new_tokens: int, with_cache: int, without_cache: int
) -> None:
    counted_tokens = token_forwards(prompt_tokens=prompt_tokens, new_tokens=new_tokens)
    assert counted_tokens == (with_cache, without_cache)


def test_token_forwards_are_what_the_passes_feed(tiny: Engine) -> None:
    import torch  # noqa: PLC0415
    from transformers import GenerationConfig  # noqa: PLC0415

    fed = []
    for use_cache in (True, False):
        config = GenerationConfig(
            max_new_tokens=6, min_new_tokens=6, do_sample=False, use_cache=use_cache, pad_token_id=0
        )
        with counted(tiny) as passes:
            tiny.model.generate(torch.tensor([[1, 2, 3, 4, 5]]), generation_config=config)
        fed.append(sum(passes))
    assert tuple(fed) == token_forwards(prompt_tokens=5, new_tokens=6) == (10, 45)


@pytest.mark.parametrize(("prompt_tokens", "new_tokens"), [(0, 5), (5, 0), (-1, 1)])
def test_token_forwards_of_nothing_are_refused(prompt_tokens: int, new_tokens: int) -> None:
    with pytest.raises(ValueError, match=f"got {prompt_tokens} and {new_tokens}"):
        token_forwards(prompt_tokens=prompt_tokens, new_tokens=new_tokens)


def test_at_each_length_the_arms_take_turns_at_the_same_context(tiny: Engine) -> None:
    with counted(tiny) as passes:
        sweep, _ = drained(recompute_job((16, 40)).begin(tiny, Limits()))
    assert passes[0] == 15, "the cache of the arm that has one"
    assert passes[1:7] == [1, 16, 1, 16, 1, 16]
    found = pairs(sweep)
    assert [(one.setting.context_len, other.setting.context_len) for one, other in found] == [(16, 16), (40, 40)]
    assert [(one.setting.num_query_tokens, other.setting.num_query_tokens) for one, other in found] == [
        (1, 16),
        (1, 40),
    ]
    assert all(len(one.times_s) == len(other.times_s) for one, other in found)


def test_the_default_lengths_stop_at_the_models_context(tiny: Engine) -> None:
    assert LENGTHS[-1] == 1024
    recompute_job().begin(tiny, Limits())
    sweep, _ = drained(recompute_job().begin(tiny, Limits()))
    assert [one.setting.context_len for one, _ in pairs(sweep)] == [16, 32, 64, 128, 256, 512]


def test_lengths_beyond_the_context_are_refused_with_both_numbers(tiny: Engine) -> None:
    with pytest.raises(ValueError, match=r"reaches 600 tokens, the model's context holds 512"):
        recompute_job((16, 600)).begin(tiny, Limits())


def _sweep(spec_of: Engine, *seconds: tuple[int, float, float]) -> Sweep:
    """Length, time with the cache, time without it."""
    points = []
    for length, with_s, without_s in seconds:
        once = Setting(WITH, "decode", num_query_tokens=1, context_len=length)
        again = Setting(WITHOUT, "prefill", num_query_tokens=length, context_len=length)
        points += [SweepPoint(once, (with_s,), ()), SweepPoint(again, (without_s,), ())]
    return Sweep(tuple(points), spec_of.spec, "float32", "CPU", 1, "2", "2026-01-01T00:00:00+00:00")


def test_the_arms_cross_between_the_lengths_where_the_ratio_passes_one(tiny: Engine) -> None:
    sweep = _sweep(tiny, (16, 2.0, 1.0), (64, 2.0, 4.0), (256, 2.0, 16.0))
    assert crossing(sweep) == pytest.approx(32)  # 1/2 at 16, 2 at 64: half way in logarithms
    assert [ratio(pair) for pair in pairs(sweep)] == [0.5, 2.0, 8.0]


@pytest.mark.parametrize(
    "seconds",
    [
        [(16, 1.0, 1.1), (64, 1.0, 4.0)],  # ahead from the start
        [(16, 2.0, 1.0), (64, 2.0, 1.5)],  # never ahead
        [(16, 1.0, 1.0)],
        [],
    ],
)
def test_where_the_arms_do_not_cross_no_crossing_is_given(
    tiny: Engine, seconds: list[tuple[int, float, float]]
) -> None:
    assert crossing(_sweep(tiny, *seconds)) is None


def test_a_ratio_that_wavers_crosses_where_the_cache_stays_ahead(tiny: Engine) -> None:
    sweep = _sweep(tiny, (16, 1.0, 1.2), (64, 1.0, 0.5), (256, 1.0, 2.0))
    assert crossing(sweep) == pytest.approx(128)


def test_a_length_measured_in_one_arm_only_is_no_pair(tiny: Engine) -> None:
    sweep = _sweep(tiny, (16, 1.0, 2.0))
    half = Sweep(sweep.points[:1], tiny.spec, "float32", "CPU", 1, "2", sweep.date)
    assert pairs(half) == []


def test_arms_are_alike_where_their_middle_halves_overlap() -> None:
    once = Setting(WITH, "decode", num_query_tokens=1, context_len=16)
    again = Setting(WITHOUT, "prefill", num_query_tokens=16, context_len=16)
    one = SweepPoint(once, (1.0, 2.0, 3.0, 4.0, 5.0), ())  # quartiles 2 and 4
    assert are_alike((one, SweepPoint(again, (3.9, 4.0, 6.0), ())))
    assert not are_alike((one, SweepPoint(again, (4.1, 4.2, 6.0), ())))


def test_cancel_keeps_the_lengths_that_are_done(
    tiny: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    worker, is_there, goes_on = Worker(), threading.Event(), threading.Event()

    def hold(module: object, args: object, kwargs: dict[str, object], output: object) -> None:
        if kwargs["input_ids"].shape[1] == 200:  # type: ignore[attr-defined]
            is_there.set()
            assert goes_on.wait(PATIENCE_S)

    handle = tiny.model.register_forward_hook(hold, with_kwargs=True)
    try:
        experiments, job = Experiments(beginning(tiny, Limits()), worker, Kept.of(tiny)), recompute_job((8, 200))
        found = experiments.start(job, "ada")
        assert is_there.wait(PATIENCE_S)
        assert experiments.cancel(job, "ada")
        goes_on.set()
        worker.submit(lambda queue_s: None).result(PATIENCE_S)
    finally:
        goes_on.set()
        handle.remove()
        worker.stop()
    assert found.state == "cancelled"
    assert found.result is not None
    assert [one.setting.context_len for one, _ in pairs(found.result)] == [8]
