"""A recording behind a run's methods."""

import pytest

from inference.engine import Engine
from inference.generation import Generation
from inference.params import SamplingParams
from inference.replay import Replay
from inference.trace import Trace
from tests.inference.passes import advance, counted


@pytest.fixture(scope="module")
def recorded(tiny: Engine) -> Trace:
    run = Generation(tiny, "Hello", SamplingParams(temperature=1.0, seed=2), 6)
    advance(run, 6)
    return run.trace


def test_a_replay_shows_exactly_the_recorded_steps_and_computes_nothing(tiny: Engine, recorded: Trace) -> None:
    replay = Replay(recorded)
    assert replay.trace.steps == []
    with counted(tiny) as passes:
        steps = [replay.prefill()]
        while not replay.finished:
            steps.append(replay.decode())
            assert replay.trace.steps == steps
    assert passes == []
    assert steps == recorded.steps
    assert (replay.trace, replay.stop_reason) == (recorded, "maximum")


def test_a_replay_that_is_not_at_its_end_has_no_stop_reason(recorded: Trace) -> None:
    replay = Replay(recorded, shown=3)
    assert (len(replay.trace.steps), replay.finished, replay.stop_reason) == (3, False, None)
    assert len(replay.trace.key_norms) == replay.trace.steps[-1].context_len


def test_a_replay_rewinds_and_shows_the_same_again(recorded: Trace) -> None:
    replay = Replay(recorded, shown=6)
    replay.rewind(1)
    assert replay.trace.steps == recorded.steps[:2]
    assert replay.decode() is recorded.steps[2]
    with pytest.raises(ValueError, match="steps 0 to 2 are"):
        replay.rewind(3)


def test_a_replay_refuses_to_fork(recorded: Trace) -> None:
    with pytest.raises(RuntimeError, match="run the prompt on the model"):
        Replay(recorded, shown=3).fork(5)


def test_a_replay_refuses_the_phases_out_of_order(recorded: Trace) -> None:
    with pytest.raises(RuntimeError, match=r"call prefill\(\)"):
        Replay(recorded).decode()
    with pytest.raises(RuntimeError, match=r"call decode\(\)"):
        Replay(recorded, shown=1).prefill()
    with pytest.raises(RuntimeError, match="recording ends here"):
        Replay(recorded, shown=6).decode()
