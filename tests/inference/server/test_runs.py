"""Many learners on one machine: presses, limits, memory, branches and recipes."""

import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import pytest
import torch
from transformers import DynamicCache

from inference.cost import kv_bytes_per_token
from inference.engine import Engine, OutOfMemoryError, measured_kv_bytes
from inference.generation import Generation
from inference.jobs.limits import Limits
from inference.jobs.worker import BusyError, Worker
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe, from_query
from inference.server.owned import Run
from inference.server.runs import MAX_BRANCHES, Runs
from tests.inference.passes import advance, counted, failing_once, token_ids

PATIENCE_S = 30  # for a tiny pass; only a broken worker takes as long
PARAMS = SamplingParams(temperature=1.0, seed=4)
ANNA = Recipe("Anna's prompt", PARAMS, max_new_tokens=20)
BEN = Recipe("Ben's longer prompt", PARAMS, max_new_tokens=20)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.stop()


@pytest.fixture
def runs(tiny: Engine, worker: Worker) -> Runs:
    return Runs(tiny, worker, Limits())


def start(runs: Runs, learner: str, recipe: Recipe) -> Run:
    return runs.start(learner, recipe).result(PATIENCE_S)


def press(runs: Runs, learner: str, num_steps: int, **options: Any) -> Run:
    """Press Next token until the run has `num_steps` steps."""
    run = runs.get(learner)
    assert run is not None
    while len(run.trace.steps) < num_steps:
        runs.advance(learner, len(run.trace.steps), **options).result(PATIENCE_S)
    return run


def alone(engine: Engine, recipe: Recipe, num_steps: int) -> list[int]:
    """The tokens of the same run with nobody else there."""
    run = Generation(
        engine, recipe.prompt, recipe.params, recipe.max_new_tokens, chat_template=recipe.chat_template
    )
    advance(run, num_steps)
    return token_ids(run)


def output(run: Run) -> list[int]:
    return token_ids(run.generation)


def held(worker: Worker) -> threading.Event:
    """The worker waits until the returned event is set, so presses pile up."""
    is_reached, is_open = threading.Event(), threading.Event()

    def hold(queue_s: float) -> None:
        is_reached.set()
        assert is_open.wait(PATIENCE_S)

    worker.submit(hold)
    assert is_reached.wait(PATIENCE_S)
    return is_open


# Presses


def test_a_press_that_arrives_twice_decodes_once(tiny: Engine, worker: Worker, runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    with counted(tiny) as passes:
        is_open = held(worker)
        presses = [runs.advance("anna", 1), runs.advance("anna", 1)]
        is_open.set()
        assert all(press.result(PATIENCE_S) is run for press in presses)
    assert passes == [1]
    assert len(run.trace.steps) == 2


def test_a_press_says_how_long_it_waited(worker: Worker, runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    is_open = held(worker)
    pressed = runs.advance("anna", 1)
    is_open.set()
    pressed.result(PATIENCE_S)
    assert run.trace.steps[1].queue_s > 0


@pytest.mark.parametrize("expected", [0, 2, 100])
def test_a_press_from_another_step_does_nothing(tiny: Engine, runs: Runs, expected: int) -> None:
    run = start(runs, "anna", ANNA)
    with counted(tiny) as passes:
        runs.advance("anna", expected).result(PATIENCE_S)
    assert passes == []
    assert len(run.trace.steps) == 1


def test_a_press_on_a_finished_run_does_nothing(tiny: Engine, runs: Runs) -> None:
    start(runs, "anna", Recipe("Hi", max_new_tokens=1))
    with counted(tiny) as passes:
        assert runs.advance("anna", 1).result(PATIENCE_S).generation.stop_reason == "maximum"
    assert passes == []


def test_a_press_that_waited_while_the_run_was_reset_or_replaced_does_nothing(
    tiny: Engine, worker: Worker, runs: Runs
) -> None:
    start(runs, "anna", ANNA)
    start(runs, "ben", BEN)
    with counted(tiny) as passes:
        is_open = held(worker)
        again = runs.start("ben", BEN)
        late = [runs.advance("anna", 1), runs.advance("ben", 1)]
        runs.forget("anna")
        is_open.set()
        for pressed in late:
            pressed.result(PATIENCE_S)
    assert passes == [len(BEN.prompt)]
    assert len(again.result(PATIENCE_S).trace.steps) == 1
    assert runs.get("anna") is None


def test_learners_who_take_turns_do_not_mix(tiny: Engine, runs: Runs) -> None:
    anna, ben = start(runs, "anna", ANNA), start(runs, "ben", BEN)
    for step in range(1, 10):
        pressed = [runs.advance("anna", step), runs.advance("ben", step)]
        for future in pressed:
            future.result(PATIENCE_S)
    assert output(anna) == alone(tiny, ANNA, 10)
    assert output(ben) == alone(tiny, BEN, 10)


def test_new_settings_hold_from_the_press_they_come_with(runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    press(runs, "anna", 3)
    runs.advance("anna", 3, params=SamplingParams()).result(PATIENCE_S)
    assert run.trace.metadata.sampling == ((0, PARAMS), (3, SamplingParams()))


@pytest.mark.parametrize("learner", ["nobody", "anna"])
def test_a_run_that_is_not_there_is_refused_with_a_remedy(runs: Runs, learner: str) -> None:
    start(runs, "anna", ANNA)
    runs.forget("anna")
    runs.forget("nobody")
    with pytest.raises(BusyError, match="press Prefill"):
        runs.advance(learner, 1)


# Limits


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (Recipe("  "), "empty"),
        (Recipe("a" * 1_000_000), "1,000,000 characters"),
        (Recipe("a" * 101), "101 tokens"),
        (Recipe("a" * 600), "600 tokens"),
        (Recipe("a", max_new_tokens=65), "from 1 to 64"),
        (Recipe("a", max_new_tokens=0), "from 1 to 64"),
        (Recipe("a" * 100), "Shorten the prompt or lower the maximum"),
        (Recipe("half \ud83d"), "half a character"),
        (Recipe("a", SamplingParams(logit_bias={320: 1.0})), "vocabulary"),
        (Recipe("a", changes=((3, SamplingParams(logit_bias={320: 1.0})),)), "vocabulary"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_too_large_is_refused_before_any_pass(
    tiny: Engine, worker: Worker, recipe: Recipe, message: str
) -> None:
    most = 120 * int(kv_bytes_per_token(tiny.spec))
    runs = Runs(tiny, worker, Limits(max_prompt_tokens=100, max_new_tokens=64, kv_bytes_per_learner=most))
    with counted(tiny) as passes, pytest.raises(ValueError, match=message):
        start(runs, "anna", recipe)
    assert passes == []
    assert runs.get("anna") is None


def test_a_refused_start_leaves_the_old_run(runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    with pytest.raises(ValueError, match="context holds 512"):
        start(runs, "anna", Recipe("a" * 600))
    assert runs.get("anna") is run


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWOPHASES_MAX_NEW_TOKENS", "5")
    assert Limits().max_new_tokens == 5
    monkeypatch.setenv("TWOPHASES_MAX_NEW_TOKENS", "many")
    with pytest.raises(
        ValueError, match=r"TWOPHASES_MAX_NEW_TOKENS must be a whole number from 1 to .*, got 'many'"
    ):
        Limits()


# Memory


def test_a_run_put_aside_comes_back_as_it_was_until_the_next_one_starts(runs: Runs) -> None:
    anna = start(runs, "anna", ANNA)
    press(runs, "anna", 3)
    runs.put_aside("anna")
    assert runs.get("anna") is None
    assert runs.is_aside("anna")
    runs.put_aside("anna")  # again, with nothing there
    runs.bring_back("anna")
    assert runs.get("anna") is anna
    assert not runs.is_aside("anna")
    assert output(press(runs, "anna", 6)) == alone(runs._engine, ANNA, 6)
    runs.put_aside("anna")
    start(runs, "anna", BEN)
    runs.bring_back("anna")
    assert runs.get("anna") is not anna


def test_runs_put_aside_are_bounded_give_way_first_and_are_forgotten_with_their_learner(
    tiny: Engine, worker: Worker
) -> None:
    runs = Runs(tiny, worker, Limits(kv_bytes_total=budget(tiny, 50), max_learners=3))
    ben = start(runs, "ben", ANNA)
    anna = start(runs, "anna", ANNA)
    runs.put_aside("anna")
    for name in ("carl", "dora"):
        start(runs, name, ANNA)
        press(runs, name, 5)
    assert runs.kv_bytes_held() <= budget(tiny, 50)
    assert anna.released == "for memory", "last used after Ben's, but put aside"
    assert not ben.released
    for number in range(6):
        start(runs, f"learner {number}", ANNA)
        runs.put_aside(f"learner {number}")
    assert len(runs._aside) == 3
    runs.forget("learner 5")
    assert not runs.is_aside("learner 5")


def budget(engine: Engine, num_tokens: int) -> int:
    return int(num_tokens * kv_bytes_per_token(engine.spec))


def test_the_run_unused_for_longest_gives_its_cache_up_and_gets_it_back(tiny: Engine, worker: Worker) -> None:
    runs = Runs(tiny, worker, Limits(kv_bytes_total=budget(tiny, 60)))
    anna, ben, carl = (start(runs, name, ANNA) for name in ("anna", "ben", "carl"))
    press(runs, "anna", 5)
    press(runs, "carl", 10)
    assert runs.kv_bytes_held() <= budget(tiny, 60)
    dora = start(runs, "dora", ANNA)
    assert [bool(run.released) for run in (anna, ben, carl, dora)] == [False, True, False, False]
    assert ben.generation.kv_bytes == 0
    for name in ("ben", "anna", "carl", "dora"):
        press(runs, name, 12)
        assert runs.kv_bytes_held() <= budget(tiny, 60)
    for run in (anna, ben, carl, dora):
        assert output(run) == alone(tiny, ANNA, 12)
    assert any(step.rebuild_s > 0 for step in ben.trace.steps)
    assert not ben.released or ben.generation.kv_bytes == 0


@pytest.mark.parametrize("num_learners", [4, 12])
def test_a_press_measures_the_cache_of_every_run_once(
    tiny: Engine, worker: Worker, num_learners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tiny, worker, Limits())
    for number in range(num_learners):
        start(runs, f"learner {number}", ANNA)
    measured: list[DynamicCache] = []

    def counting(cache: DynamicCache) -> int:
        measured.append(cache)
        return measured_kv_bytes(cache)

    monkeypatch.setattr("inference.generation.measured_kv_bytes", counting)
    press(runs, "learner 0", 2)
    assert len(measured) == num_learners + 2, "once for all, and the presser's own before and after the pass"


def test_a_long_idle_run_gives_its_cache_up_when_another_learner_acts(tiny: Engine, worker: Worker) -> None:
    runs = Runs(tiny, worker, Limits(idle_s=0))
    anna = start(runs, "anna", ANNA)
    start(runs, "ben", BEN)
    assert (anna.released, anna.generation.kv_bytes) == ("for memory", 0)
    press(runs, "anna", 6)
    assert not anna.released
    assert output(anna) == alone(tiny, ANNA, 6)


def test_the_run_unused_for_longest_is_dropped_for_a_new_learner(tiny: Engine, worker: Worker) -> None:
    runs = Runs(tiny, worker, Limits(max_learners=2))
    start(runs, "anna", ANNA)
    start(runs, "ben", BEN)
    press(runs, "anna", 2)
    start(runs, "carl", ANNA)
    assert [runs.get(name) is None for name in ("anna", "ben", "carl")] == [False, True, False]


def test_a_pass_without_memory_can_be_pressed_again(tiny: Engine, runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    with failing_once(tiny.model, torch.OutOfMemoryError("out of memory")), pytest.raises(OutOfMemoryError):
        runs.advance("anna", 1).result(PATIENCE_S)
    press(runs, "anna", 8)
    assert output(run) == alone(tiny, ANNA, 8)


# Branches


def other_token(run: Run, index: int) -> int:
    step = run.trace.steps[index]
    return next(c.token_id for c in step.candidates if c.token_id != step.token_id)


def test_a_branch_goes_on_from_another_token_and_keeps_the_old_run(tiny: Engine, runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    press(runs, "anna", 8)
    before, token_id = run.trace.to_json(), other_token(run, 3)
    with counted(tiny) as passes:
        runs.branch("anna", 8, index=3, token_id=token_id).result(PATIENCE_S)
    assert passes == []
    assert len(run.trace.steps) == 4
    assert run.trace.steps[3].token_id == token_id
    press(runs, "anna", 8)
    assert run.trace.to_json() != before
    assert [branch.to_json() for branch in run.branches] == [before]


def test_a_branch_with_other_settings_takes_one_step(tiny: Engine, runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    press(runs, "anna", 8)
    with counted(tiny) as passes:
        runs.branch("anna", 8, index=3, params=SamplingParams()).result(PATIENCE_S)
    assert passes == [1]
    assert len(run.trace.steps) == 5
    assert run.trace.metadata.sampling == ((0, PARAMS), (4, SamplingParams()))


def test_only_the_newest_branches_are_kept(runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    for _ in range(MAX_BRANCHES + 3):
        runs.branch("anna", 1, index=0, token_id=other_token(run, 0)).result(PATIENCE_S)
    assert len(run.branches) == MAX_BRANCHES


@pytest.mark.parametrize("options", [{"index": 8}, {"index": -1}, {"index": 3, "token_id": 319}])
def test_a_branch_that_is_refused_loses_no_step(runs: Runs, options: dict[str, Any]) -> None:
    run = start(runs, "anna", ANNA)
    press(runs, "anna", 8)
    before = run.trace.to_json()
    with pytest.raises(ValueError, match=r"does not exist|choose one of them"):
        runs.branch("anna", 8, **options).result(PATIENCE_S)
    assert before in [trace.to_json() for trace in (run.trace, *run.branches)]


def test_a_branch_pressed_twice_branches_once(worker: Worker, runs: Runs) -> None:
    run = start(runs, "anna", ANNA)
    press(runs, "anna", 8)
    is_open = held(worker)
    token_id = other_token(run, 3)
    presses = [runs.branch("anna", 8, index=3, token_id=token_id) for _ in range(2)]
    is_open.set()
    for pressed in presses:
        pressed.result(PATIENCE_S)
    assert len(run.branches) == 1


# Recipes


def test_a_recipe_from_a_link_makes_the_run_again(runs: Runs) -> None:
    recipe = Recipe("Hello <|end|> & more=1", PARAMS, 20, chat_template=True, stop=("never, ever",))
    run = start(runs, "anna", recipe)
    press(runs, "anna", 4)
    runs.branch("anna", 4, index=2, token_id=other_token(run, 2)).result(PATIENCE_S)
    press(runs, "anna", 6)
    hot = SamplingParams(temperature=2.5, top_k=100, logit_bias={70: 0.123456789}, seed=9)
    runs.advance("anna", 6, params=hot).result(PATIENCE_S)
    runs.branch("anna", 7, index=6, token_id=other_token(run, 6)).result(PATIENCE_S)
    press(runs, "anna", 12)
    made = Recipe.of(run.trace)
    read, problems = from_query(parse_qs(made.to_query(), keep_blank_values=True))
    assert (read, problems) == (made, [])
    assert read is not None
    start(runs, "ben", read)
    again = press(runs, "ben", read.num_steps)
    assert output(again) == output(run)
    assert [step.is_forced for step in again.trace.steps] == [step.is_forced for step in run.trace.steps]
    assert again.trace.metadata.sampling == run.trace.metadata.sampling


def test_a_link_that_forces_a_token_of_another_vocabulary_is_refused_by_its_id(runs: Runs) -> None:
    with pytest.raises(ValueError, match="token 320 is not among the 320 of random:tiny"):
        start(runs, "anna", Recipe("Hello", forced={2: 65, 6: 320}))
    assert runs.get("anna") is None


def test_a_branch_leaves_what_the_recipe_would_have_done_later(runs: Runs) -> None:
    run = start(runs, "anna", Recipe("Hello", PARAMS, 20, forced={2: 65, 6: 66}, changes=((5, SamplingParams()),)))
    press(runs, "anna", 8)
    assert (output(run)[2], output(run)[6]) == (65, 66)
    runs.branch("anna", 8, index=3, token_id=other_token(run, 3)).result(PATIENCE_S)
    press(runs, "anna", 8)
    assert [step.index for step in run.trace.steps if step.is_forced] == [2, 3]
    assert run.trace.metadata.sampling == ((0, PARAMS),)
