"""A recording revealed step by step."""

import pytest

from inference.engine import Engine
from inference.generation import Generation
from inference.run.params import SamplingParams
from inference.run.replay import Replay
from inference.trace import Trace
from tests.inference.passes import advance, counted


@pytest.fixture(scope="module")
def recorded(tiny: Engine) -> Trace:
    run = Generation(tiny, "Hello", SamplingParams(temperature=1.0, seed=2), 6)
    advance(run, 6)
    return run.trace


def test_a_replay_shows_exactly_the_recorded_steps_and_computes_nothing(tiny: Engine, recorded: Trace) -> None:
    replay = Replay(recorded, 1)
    with counted(tiny) as passes:
        for num_shown in range(1, 7):
            assert replay.trace.steps == recorded.steps[:num_shown]
            assert replay.finished == (num_shown == 6)
            if not replay.finished:
                replay.reveal()
    assert passes == []
    assert replay.trace == recorded
    assert replay.trace.stop_reason == "maximum"


def test_a_replay_that_is_not_at_its_end_has_no_stop_reason(recorded: Trace) -> None:
    trace = Replay(recorded, 3).trace
    assert (len(trace.steps), trace.stop_reason) == (3, None)
    assert len(trace.key_norms) == trace.steps[-1].context_len


def test_nothing_is_revealed_behind_the_end(recorded: Trace) -> None:
    with pytest.raises(RuntimeError, match="recording ends here"):
        Replay(recorded, 6).reveal()
