"""The logits a lab works on are the run's own, or those of a prompt's one pass; bad input gets a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from inference.sampling_lab.next_token import find_token, prompt_job, step_job
from tests.inference.passes import counted

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.generation import Generation


@pytest.fixture
def run(tiny: Engine) -> Generation:
    from inference.generation import Generation  # noqa: PLC0415

    generation = Generation(tiny, "Some words", max_new_tokens=8)
    generation.prefill()
    for _ in range(3):
        generation.decode()
    return generation


def test_a_prompt_takes_one_pass_and_gives_the_logits_of_its_prefill(tiny: Engine) -> None:
    import torch  # noqa: PLC0415

    from inference.generation import Generation  # noqa: PLC0415

    job = prompt_job("Some words")
    with counted(tiny) as passes:
        found, _ = drained(job.begin(tiny, Limits()))
    assert passes == [len(b"Some words")]
    generation = Generation(tiny, "Some words")
    generation.prefill()
    assert generation.last is not None
    assert torch.equal(found.logits, generation.last.logits)
    assert found.token_ids == tuple(generation.trace.token_ids[:-1])
    assert not job.is_kept, "a learner's text is neither stored nor shared"


def test_the_newest_step_is_read_from_the_run_without_a_pass(tiny: Engine, run: Generation) -> None:
    context = run.trace.token_ids[:-1]
    with counted(tiny) as passes:
        found, _ = drained(step_job(run, context, 3).begin(tiny, Limits()))
    assert passes == []
    assert run.last is not None
    assert found.logits is run.last.logits
    assert (found.token_ids, found.index) == (tuple(context), 3)


def test_an_earlier_step_is_computed_again_in_one_pass_over_its_context(tiny: Engine, run: Generation) -> None:
    context = run.trace.token_ids[:-3]
    with counted(tiny) as passes:
        found, _ = drained(step_job(run, context, 1).begin(tiny, Limits()))
    assert passes == [len(context)]
    assert int(found.logits.argmax()) == run.trace.token_ids[-3], "greedy: the token that step chose"
    probability = float(found.logits.softmax(-1).max())
    assert probability == pytest.approx(run.trace.steps[1].candidates[0].probability, rel=1e-4)


def test_a_run_that_went_on_or_back_meanwhile_does_not_answer_for_another_step(
    tiny: Engine, run: Generation
) -> None:
    context = tuple(run.trace.token_ids[:-1])
    job = step_job(run, context, 3)
    run.decode()
    found, _ = drained(job.begin(tiny, Limits()))
    assert found.token_ids == context
    run.rewind(3)
    run.fork(run.trace.steps[-1].candidates[5].token_id)
    found, _ = drained(job.begin(tiny, Limits()))
    assert found.token_ids == context


@pytest.mark.parametrize("prompt", ["", "  \n"])
def test_an_empty_prompt_is_refused(tiny: Engine, prompt: str) -> None:
    with pytest.raises(ValueError, match="prompt is empty"):
        prompt_job(prompt).begin(tiny, Limits())


def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers(tiny: Engine) -> None:
    with pytest.raises(ValueError, match="600 tokens, the model's context holds 512"):
        prompt_job("a" * 600).begin(tiny, Limits())


def test_two_prompts_and_two_steps_have_names_of_their_own(run: Generation) -> None:
    names = {prompt_job("a").name, prompt_job("b").name, prompt_job("a", chat_template=True).name}
    names |= {step_job(run, [1], 0).name, step_job(run, [1], 1).name, step_job(run, [2], 0).name}
    assert len(names) == 6
    assert "secret" not in prompt_job("secret").name


def test_a_token_is_found_by_its_id_by_its_text_and_by_marked_spaces(tiny: Engine) -> None:
    assert find_token(tiny.tokenizer, "17") == 17
    (space,), (letter,) = tiny.tokenizer(" ").input_ids, tiny.tokenizer("a").input_ids
    assert find_token(tiny.tokenizer, "␣") == space == find_token(tiny.tokenizer, " ")
    assert find_token(tiny.tokenizer, "a") == letter


def test_text_that_is_several_tokens_is_refused_with_their_ids(tiny: Engine) -> None:
    first = tiny.tokenizer("word").input_ids[0]
    with pytest.raises(ValueError, match=rf"'word' is 4 tokens.*one of the ids \[{first}"):
        find_token(tiny.tokenizer, "word")


@pytest.mark.real_model
def test_the_capital_of_france_is_known_and_a_story_is_open(real: Engine) -> None:
    from inference.run.params import SamplingParams  # noqa: PLC0415
    from inference.sampling_lab.views import chain_view  # noqa: PLC0415

    kept = {}
    for prompt in ("The capital of France is", "Once upon a time, there was a"):
        found, _ = drained(prompt_job(prompt).begin(real, Limits()))
        view = chain_view(found, SamplingParams(1.0, top_p=0.9))
        assert view.vocab_size == real.spec.vocab_size == view.stages[0].num_kept
        assert view.last.kept_mass >= 0.9
        kept[prompt] = view.last
    known, open_ended = kept.values()
    assert known.top[0].token_id == find_token(real.tokenizer, "␣Paris")
    assert open_ended.num_kept > 10 * known.num_kept
    assert open_ended.entropy_bits > known.entropy_bits + 4
