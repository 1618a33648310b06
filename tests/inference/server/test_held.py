"""What others hold is known as counts: nothing of what they wrote."""

from collections.abc import Iterator

import pytest

from inference.engine import Engine
from inference.jobs.limits import Limits
from inference.jobs.worker import Worker
from inference.run.recipe import Recipe
from inference.server.held import MOST_SHOWN, held
from inference.server.runs import Runs

PATIENCE_S = 30
PUBLIC = "Monday, Tuesday, Wednesday,"


@pytest.fixture
def runs(tiny: Engine) -> Iterator[Runs]:
    worker = Worker()
    yield Runs(tiny, worker, Limits())
    worker.stop()


def start(runs: Runs, learner: str, prompt: str, num_steps: int = 1) -> None:
    runs.start(learner, Recipe(prompt, max_new_tokens=20)).result(PATIENCE_S)
    for place in range(1, num_steps):
        runs.advance(learner, place).result(PATIENCE_S)


def test_lengths_and_bytes_are_those_of_the_live_caches(runs: Runs) -> None:
    start(runs, "anna", "x" * 30, num_steps=5)
    start(runs, "ben", "y" * 10)
    own, other = held(runs, "anna")
    assert (own.conversation.name, other.conversation.name) == ("yours", "learner 2")
    # one token a byte; the fifth token has not been fed back; 256 bytes a token
    assert (own.conversation.prompt_tokens, own.conversation.cached_tokens) == (30, 34)
    assert (own.conversation.reserved_tokens, own.kv_bytes) == (50, 34 * 256)
    assert (other.conversation.cached_tokens, other.kv_bytes) == (10, 2560)


def test_a_learner_without_a_run_is_not_among_them(runs: Runs) -> None:
    start(runs, "ben", "y" * 10)
    assert [one.conversation.name for one in held(runs, "anna")] == ["learner 2"]


def test_only_public_prompts_are_compared(runs: Runs) -> None:
    for learner in ("anna", "ben", "cleo", "dora"):
        start(runs, learner, PUBLIC if learner in "anna ben" else "my secret plan")
    found = held(runs, "anna", public_prompts=[PUBLIC])
    assert [one.conversation.same_tokens for one in found].count(len(PUBLIC)) == 1
    secret = held(runs, "dora", public_prompts=[PUBLIC])
    assert secret[0].conversation.same_tokens == 0
    assert all(one.conversation.same_as != 0 for one in secret)
    assert not any(one.conversation.same_tokens for one in held(runs, "anna"))


def test_a_cache_that_was_given_up_and_those_beyond_the_most_are_left_out(runs: Runs) -> None:
    for number in range(MOST_SHOWN + 2):
        start(runs, f"learner {number}", "y" * 10)
    assert len(held(runs, "learner 0")) == MOST_SHOWN
    run = runs.get("learner 0")
    assert run
    run.generation.release_cache()
    run.released = "for memory"
    assert "yours" not in [one.conversation.name for one in held(runs, "learner 0")]


def test_a_reservation_ends_with_the_models_context(runs: Runs) -> None:
    runs.start("anna", Recipe("x" * 500, max_new_tokens=100)).result(PATIENCE_S)
    assert held(runs, "anna")[0].conversation.reserved_tokens == 512
