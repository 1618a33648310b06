"""Batched outputs are plain greedy ones, and no cache block is lost, whenever a run ends."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import pytest

from inference.batching.job import serving_job
from inference.batching.presets import LONG, MIXED, PRESETS, batching_job
from inference.batching.records import Arrival, ServingPlan
from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from tests.inference.passes import failing_once, outputs

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from inference.batching.records import ServedPlan
    from inference.batching.run import PagedServer
    from inference.engine import Engine

TIE = 1e-3
"""Two best logits closer than this are a tie: another order of sums may pick either."""


def plain_greedy(engine: Engine, prompt: list[int], num_tokens: int) -> tuple[list[int], list[float]]:
    """transformers' own generation, one prompt at a time; with the lead of each token over the next best."""
    import torch  # noqa: PLC0415
    from transformers import GenerationConfig  # noqa: PLC0415

    config = GenerationConfig(
        max_new_tokens=num_tokens,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
        output_logits=True,
        return_dict_in_generate=True,
    )
    made = engine.model.generate(torch.tensor([prompt]), generation_config=config)
    leads = [float(-torch.diff(logits[0].topk(2).values)) for logits in made.logits]
    return made.sequences[0][len(prompt) :].tolist(), leads


def assert_plain(engine: Engine, arms: tuple[ServedPlan, ...]) -> None:
    """Every output of every arm is the plain one, or parts from it where two tokens are tied."""
    from inference.batching.run import prompt_ids  # noqa: PLC0415

    plan, found = arms[0].plan, [outputs(arm) for arm in arms]
    for place, prompt in enumerate(prompt_ids(engine, plan)):
        expected, leads = plain_greedy(engine, prompt, plan.arrivals[place].output_tokens)
        for output in (each[place] for each in found):
            assert len(output) == len(expected)
            parted = [n for n, (one, other) in enumerate(zip(output, expected, strict=True)) if one != other]
            assert not parted or leads[parted[0]] < TIE, (
                f"request {place}, token {parted[0]} led by {leads[parted[0]]}"
            )


def test_both_ways_give_the_tokens_of_plain_greedy_generation(tiny: Engine) -> None:
    arrivals = (Arrival(0, 12, 3), Arrival(0, 90, 5), Arrival(2, 7, 6), Arrival(3, 33, 2))
    arms = drained(batching_job(arrivals, slots=2, tokens_per_pass=40).begin(tiny, Limits()))[0].arms
    assert max(one.tokens("prefill") for one in arms[1].passes) < 90, "a prompt came in chunks"
    assert_plain(tiny, arms)


@pytest.mark.real_model
def test_both_ways_give_the_default_models_plain_greedy_tokens(real: Engine) -> None:
    arrivals = (*PRESETS[MIXED][3:8], PRESETS[LONG][6])
    assert_plain(real, drained(batching_job(arrivals, slots=3, tokens_per_pass=128).begin(real, Limits()))[0].arms)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> list[PagedServer]:
    """Every server that a run has opened."""
    from inference.batching import run as batching_run  # noqa: PLC0415

    opened: list[PagedServer] = []

    class Noted(batching_run.PagedServer):
        def __init__(self, engine: Engine, *, slots: int, tokens_per_pass: int, num_blocks: int) -> None:
            super().__init__(engine, slots=slots, tokens_per_pass=tokens_per_pass, num_blocks=num_blocks)
            opened.append(self)

    monkeypatch.setattr(batching_run, "PagedServer", Noted)
    return opened


def test_no_block_is_lost_over_200_random_schedules_wherever_they_are_cancelled(tiny: Engine) -> None:
    from inference.batching.run import PagedServer  # noqa: PLC0415

    rng = random.Random(0)
    server = PagedServer(tiny, slots=3, tokens_per_pass=24, num_blocks=9)
    server._processor._generation_step = lambda model: None  # scheduling and blocks are real, tokens are all 0
    num_cancelled = 0
    for _ in range(200):
        for place in range(rng.randint(1, 5)):
            server.add(place, [1] * rng.randint(1, 40), rng.randint(1, 8))
        left = rng.randint(0, 25)
        while server.is_busy and left:
            assert server.step(0).blocks == server.num_blocks - server.free_blocks or not server.is_busy or left
            left -= 1
        if server.is_busy:
            num_cancelled += 1
            server.close()
        assert server.free_blocks == server.num_blocks == 9
        assert not server.is_busy
    assert 20 < num_cancelled < 180


@pytest.mark.parametrize("num_passes", [1, 2, 3, 7, 11])
def test_a_run_cancelled_anywhere_leaves_no_block_and_no_thread(
    tiny: Engine, servers: list[PagedServer], num_passes: int
) -> None:
    threads = set(threading.enumerate())
    work = batching_job((Arrival(0, 30, 6), Arrival(0, 20, 4), Arrival(1, 9, 3)), slots=2).begin(tiny, Limits())
    for _ in range(num_passes):
        next(work)
    work.close()
    assert servers
    assert all(server.free_blocks == server.num_blocks for server in servers)
    assert set(threading.enumerate()) == threads


def test_a_finished_run_leaves_no_block(tiny: Engine, servers: list[PagedServer]) -> None:
    drained(batching_job((Arrival(0, 30, 6), Arrival(0, 20, 4)), slots=2).begin(tiny, Limits()))
    assert len(servers) == 2
    assert all(server.free_blocks == server.num_blocks for server in servers)


def test_a_failed_pass_leaves_no_block(tiny: Engine, servers: list[PagedServer]) -> None:
    job = serving_job([ServingPlan("fails", (Arrival(0, 30, 6),), slots=1, tokens_per_pass=64)])
    broken = failing_once(tiny.model.model.layers[1], RuntimeError("out of paper"))
    with broken, pytest.raises(RuntimeError, match="out of paper"):
        drained(job.begin(tiny, Limits()))
    (server,) = servers
    assert server.free_blocks == server.num_blocks
    assert drained(job.begin(tiny, Limits()))[0].is_done


def test_the_engine_is_left_as_it_was(tiny: Engine) -> None:
    import torch  # noqa: PLC0415

    before = (tiny.model.config.to_dict(), tiny.model.generation_config.to_dict(), torch.random.get_rng_state())
    memory = {name: parameter.data_ptr() for name, parameter in tiny.model.named_parameters()}
    drained(batching_job((Arrival(0, 4, 2),)).begin(tiny, Limits()))
    assert tiny.model.config.to_dict() == before[0]
    assert tiny.model.generation_config.to_dict() == before[1]
    assert torch.equal(torch.random.get_rng_state(), before[2])
    assert {name: parameter.data_ptr() for name, parameter in tiny.model.named_parameters()} == memory


def test_the_copy_that_serves_shares_its_weights(tiny: Engine) -> None:
    from inference.batching.run import PagedServer  # noqa: PLC0415

    server = PagedServer(tiny, slots=1, tokens_per_pass=8, num_blocks=1)
    assert server._model is not tiny.model
    own = {parameter.data_ptr() for parameter in tiny.model.parameters()}
    assert {parameter.data_ptr() for parameter in server._model.parameters()} == own
