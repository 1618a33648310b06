"""The stages of TTFT are the first step's own."""

from dataclasses import replace

import pytest

from inference.engine import Engine
from inference.generation import Generation
from inference.latency.waterfall import ttft_stages


def test_the_measured_stages_add_up_to_the_runs_ttft(tiny: Engine) -> None:
    generation = Generation(tiny, "Hello")
    generation.prefill(queue_s=0.25)
    stages = ttft_stages(generation.trace.steps[0])
    assert [stage.name for stage in stages] == ["tokenise", "queue", "prefill", "sample", "detokenise"]
    assert sum(stage.seconds for stage in stages) == pytest.approx(generation.trace.ttft_s)
    assert stages[1].seconds == 0.25
    assert not any(stage.is_simulated for stage in stages)


def test_a_simulated_queue_takes_the_measured_ones_place_and_says_so(tiny: Engine) -> None:
    step = Generation(tiny, "Hello").prefill(queue_s=0.25)
    stages = ttft_stages(step, simulated_queue_s=3.0)
    assert [(stage.seconds, stage.is_simulated) for stage in stages if stage.name == "queue"] == [(3.0, True)]
    assert sum(stage.is_simulated for stage in stages) == 1


def test_a_rebuilt_cache_is_a_stage_of_its_own(tiny: Engine) -> None:
    step = replace(Generation(tiny, "Hello").prefill(), rebuild_s=0.5)
    assert ("rebuild the cache", 0.5) in [(stage.name, stage.seconds) for stage in ttft_stages(step)]


def test_a_decode_step_has_no_first_token(tiny: Engine) -> None:
    generation = Generation(tiny, "Hello")
    generation.prefill()
    with pytest.raises(ValueError, match="got a decode step"):
        ttft_stages(generation.decode())
