"""A run against transformers' own generate, against itself undisturbed, and against a cache built in one pass."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Gemma2Config, Gemma2ForCausalLM, MistralConfig, MistralForCausalLM

from inference.cost import kv_bytes_per_token
from inference.engine import Engine, OutOfMemoryError
from inference.generation import Generation
from inference.run.params import SamplingParams
from inference.trace import Trace
from inference.weights.random_model import byte_tokenizer
from tests.inference.passes import advance, counted, failing_once, token_ids

PROMPT = "The keeper of the lighthouse"
VARIED = SamplingParams(repetition_penalty=1.3)  # greedy alone makes random weights repeat one token
SAMPLED = SamplingParams(temperature=1.0, top_k=60, repetition_penalty=1.2, seed=3)
SETTINGS = [pytest.param(VARIED, id="greedy"), pytest.param(SAMPLED, id="sampled")]
PROMPTS = [
    "What is the capital of France?",
    "Once upon a time",
    "def fibonacci(n):",
    "List three colours. 1.",
    "Café 🧑‍🚀 漢字:",
]


def generate(engine: Engine, prompt: str, *, chat_template: bool, num_tokens: int, **options: Any) -> list[int]:
    """The tokens of transformers' own loop."""
    if chat_template:
        messages = [{"role": "user", "content": prompt}]
        inputs = engine.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
    else:
        inputs = engine.tokenizer(prompt, return_tensors="pt")
    ids = inputs["input_ids"].to(engine.device)
    output = engine.model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=num_tokens, do_sample=False, **options
    )
    return [int(token_id) for token_id in output[0, ids.shape[1] :]]


@pytest.mark.real_model
@pytest.mark.parametrize(
    ("prompt", "chat_template"), [*((one, False) for one in PROMPTS), (PROMPTS[0], True), (PROMPTS[-1], True)]
)
def test_greedy_tokens_of_the_default_model_are_those_of_generate(
    real: Engine, prompt: str, chat_template: bool
) -> None:
    run = Generation(real, prompt, max_new_tokens=32, chat_template=chat_template)
    advance(run, 32)
    assert token_ids(run) == generate(real, prompt, chat_template=chat_template, num_tokens=32)
    ends_itself = run.trace.steps[-1].token_id in real.end_tokens
    assert run.stop_reason == ("end token" if ends_itself else "maximum")


@pytest.mark.real_model
def test_the_default_model_names_the_capital_and_ends_by_itself(real: Engine) -> None:
    run = Generation(real, PROMPTS[0], chat_template=True)
    advance(run, 64)
    assert run.trace.text == "The capital of France is Paris."
    assert run.stop_reason == "end token"


@pytest.mark.parametrize("chat_template", [False, True])
@pytest.mark.parametrize("penalty", [1.0, 1.3])
def test_greedy_tokens_are_those_of_generate(tiny: Engine, chat_template: bool, penalty: float) -> None:
    params = SamplingParams(repetition_penalty=penalty)
    run = Generation(tiny, PROMPT, params, 32, chat_template=chat_template)
    advance(run, 32)
    expected = generate(tiny, PROMPT, chat_template=chat_template, num_tokens=32, repetition_penalty=penalty)
    assert token_ids(run) == expected


def test_biased_greedy_tokens_are_those_of_generate(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT, SamplingParams(logit_bias={70: 0.4, 71: -3.0}, repetition_penalty=1.3), 16)
    advance(run, 16)
    options = {"sequence_bias": {(70,): 0.4, (71,): -3.0}, "repetition_penalty": 1.3}
    assert token_ids(run) == generate(tiny, PROMPT, chat_template=False, num_tokens=16, **options)


def test_n_tokens_take_one_prefill_and_n_minus_one_decodes(tiny: Engine) -> None:
    with counted(tiny) as passes:
        run = Generation(tiny, PROMPT, VARIED, 10)
        steps = advance(run, 10)
    assert passes == [len(PROMPT)] + [1] * 9
    assert [step.phase for step in steps] == ["prefill"] + ["decode"] * 9
    assert [step.num_query_tokens for step in steps] == passes
    assert [step.context_len for step in steps] == [len(PROMPT) + decodes for decodes in range(10)]


def assert_kv_bytes_are_the_formulas(engine: Engine, num_steps: int) -> None:
    run = Generation(engine, PROMPT, max_new_tokens=num_steps)
    for step in advance(run, num_steps):
        assert step.kv_bytes == step.context_len * kv_bytes_per_token(engine.spec)
    assert run.kv_bytes == run.trace.steps[-1].kv_bytes


def test_measured_kv_bytes_are_the_formulas_at_every_step(tiny: Engine) -> None:
    assert_kv_bytes_are_the_formulas(tiny, 40)


@pytest.mark.real_model
def test_measured_kv_bytes_of_the_default_model_are_the_formulas(real: Engine) -> None:
    assert_kv_bytes_are_the_formulas(real, 8)


def test_a_steps_numbers_come_from_its_logits(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT, SAMPLED)
    for _ in range(5):
        step = advance(run, 1)[-1]
        assert run.last is not None
        logits = np.asarray(run.last.logits.double())
        chances = np.exp(logits - logits.max())
        chances /= chances.sum()
        assert step.logprob == pytest.approx(math.log(chances[step.token_id]), abs=1e-5)
        assert step.entropy == pytest.approx(float(-(chances * np.log(chances)).sum()), abs=1e-5)
        for candidate in step.candidates:
            assert candidate.probability == pytest.approx(chances[candidate.token_id], abs=1e-6)
        best = np.argsort(-chances)[: len(step.candidates) - 1]
        ids = [candidate.token_id for candidate in step.candidates]
        assert ids[:-1] == best.tolist()
        assert step.token_id in ids
        assert {c.is_kept for c in step.candidates if c.sampling_probability > 0} == {True}


def test_key_norms_are_those_of_a_cache_built_in_one_pass(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT, SAMPLED)
    advance(run, 9)
    run.rewind(5)
    advance(run, 2)
    cache = tiny.new_cache()
    tiny.forward(run.trace.token_ids[:-1], cache)
    expected = torch.stack([layer.keys[0].square().sum(dim=(0, 2)).sqrt() for layer in cache.layers], dim=1)
    torch.testing.assert_close(torch.tensor(run.trace.key_norms), expected.cpu(), atol=0, rtol=1e-3)


# Going back


@pytest.mark.parametrize("params", SETTINGS)
def test_a_rewound_run_goes_on_as_if_it_had_never_been_rewound(tiny: Engine, params: SamplingParams) -> None:
    undisturbed, rewound = Generation(tiny, PROMPT, params), Generation(tiny, PROMPT, params)
    logits = []
    for _ in range(12):
        advance(undisturbed, 1)
        assert undisturbed.last is not None
        logits.append(undisturbed.last.logits)
    advance(rewound, 12)
    with counted(tiny) as passes:
        rewound.rewind(4)
        assert passes == []
        assert rewound.num_cached == rewound.trace.steps[-1].context_len == len(PROMPT) + 4
        assert rewound.kv_bytes == rewound.num_cached * kv_bytes_per_token(tiny.spec)
        for index in range(5, 12):
            advance(rewound, 1)
            assert rewound.last is not None
            torch.testing.assert_close(rewound.last.logits, logits[index], atol=1e-5, rtol=1e-4)
    assert passes == [1] * 7
    assert token_ids(rewound) == token_ids(undisturbed)
    assert [step.text for step in rewound.trace.steps] == [step.text for step in undisturbed.trace.steps]
    assert len(rewound.trace.key_norms) == rewound.num_cached


@pytest.mark.real_model
@pytest.mark.parametrize("params", SETTINGS)
def test_a_rewound_run_of_the_default_model_goes_on_as_before(real: Engine, params: SamplingParams) -> None:
    run = Generation(real, PROMPT, params)
    advance(run, 10)
    before = token_ids(run)
    run.rewind(3)
    advance(run, 6)
    assert token_ids(run) == before


@pytest.mark.parametrize("params", SETTINGS)
def test_a_fork_goes_on_from_its_own_token_without_a_pass(tiny: Engine, params: SamplingParams) -> None:
    run = Generation(tiny, PROMPT, params)
    advance(run, 10)
    before = token_ids(run)
    run.rewind(4)
    other = next(c for c in run.trace.steps[4].candidates if c.token_id != before[4])
    with counted(tiny) as passes:
        step = run.fork(other.token_id)
    assert passes == []
    assert (step.index, step.token_id, step.is_forced) == (4, other.token_id, True)
    assert step.logprob == pytest.approx(math.log(other.probability), abs=1e-5)
    advance(run, 5)
    assert token_ids(run)[:4] == before[:4]
    assert token_ids(run)[4:] != before[4:]
    assert run.last is not None
    whole = tiny.forward(run.trace.token_ids[:-1], tiny.new_cache())
    torch.testing.assert_close(run.last.logits, whole.logits, atol=1e-5, rtol=1e-4)


def test_the_newest_step_takes_any_token_and_an_older_one_a_candidate_only(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT)
    advance(run, 3)
    outside = next(i for i in range(256) if i not in {c.token_id for c in run.trace.steps[-1].candidates})
    assert run.fork(outside).token_id == outside
    run.rewind(0)
    outside = next(i for i in range(256) if i not in {c.token_id for c in run.trace.steps[-1].candidates})
    with pytest.raises(ValueError, match="choose one of them"):
        run.fork(outside)


@pytest.mark.parametrize("index", [-1, 3, 100])
def test_rewinding_to_a_step_that_does_not_exist_is_refused(tiny: Engine, index: int) -> None:
    run = Generation(tiny, PROMPT)
    advance(run, 3)
    with pytest.raises(ValueError, match="steps 0 to 2"):
        run.rewind(index)
    assert len(run.trace.steps) == 3


@pytest.mark.parametrize("token_id", [-1, 320])
def test_forking_to_a_token_outside_the_vocabulary_is_refused(tiny: Engine, token_id: int) -> None:
    run = Generation(tiny, PROMPT)
    advance(run, 1)
    with pytest.raises(ValueError, match="not in the vocabulary"):
        run.fork(token_id)


def test_new_settings_hold_from_the_next_step_and_a_rewind_takes_them_back(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT, VARIED)
    advance(run, 3)
    run.set_params(SAMPLED)
    advance(run, 3)
    assert run.trace.metadata.sampling == ((0, VARIED), (3, SAMPLED))
    assert [run.trace.params_at(index) for index in (2, 3, 5)] == [VARIED, SAMPLED, SAMPLED]
    run.rewind(2)
    assert run.params == VARIED


def test_settings_the_vocabulary_cannot_hold_are_refused_before_any_pass(tiny: Engine) -> None:
    with counted(tiny) as passes, pytest.raises(ValueError, match="vocabulary ends at 319"):
        Generation(tiny, PROMPT, SamplingParams(logit_bias={320: 1.0}))
    run = Generation(tiny, PROMPT)
    with pytest.raises(ValueError, match="vocabulary ends at 319"):
        run.set_params(SamplingParams(logit_bias={320: 1.0}))
    assert passes == []


# How a run ends


def test_the_end_token_ends_the_run_and_is_no_text(tiny: Engine) -> None:
    (end,) = tiny.end_tokens
    run = Generation(tiny, PROMPT, SamplingParams(logit_bias={end: 100.0}))
    advance(run, 64)
    assert (run.stop_reason, token_ids(run), run.trace.text) == ("end token", [end], "")


def test_a_stop_string_ends_the_run_where_generate_stops(tiny: Engine) -> None:
    free = Generation(tiny, PROMPT, VARIED, 32)
    advance(free, 32)
    stop = free.trace.text[10:12]
    run = Generation(tiny, PROMPT, VARIED, 32, stop=["not in there", stop])
    advance(run, 32)
    assert run.stop_reason == "stop string"
    assert stop in run.trace.text
    assert stop not in "".join(step.text for step in run.trace.steps[:-1])


def test_a_stop_string_completed_across_tokens_ends_the_run(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT, stop=["xyz"])
    reasons = []
    for letter in "xyz":
        advance(run, 1)
        run.fork(tiny.tokenizer(letter).input_ids[0])
        reasons.append(run.stop_reason)
    assert reasons == [None, None, "stop string"]
    assert run.trace.text == "xyz"


def test_a_stop_string_counts_before_the_maximum_when_both_are_reached(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT, max_new_tokens=1, stop=["x"])
    advance(run, 1)
    run.fork(tiny.tokenizer("x").input_ids[0])
    assert run.stop_reason == "stop string"


def test_the_maximum_ends_the_run(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT, VARIED, 3)
    assert len(advance(run, 10)) == 3
    assert run.stop_reason == "maximum"


@pytest.mark.parametrize(("num_prompt", "num_tokens"), [(512, 1), (511, 2), (508, 5)])
def test_a_full_context_ends_the_run(tiny: Engine, num_prompt: int, num_tokens: int) -> None:
    run = Generation(tiny, "a" * num_prompt, VARIED, 64)
    assert len(advance(run, 64)) == num_tokens
    assert run.stop_reason == "context full"
    assert run.num_cached == tiny.spec.max_context == 512


def test_decode_after_the_end_is_refused_and_a_fork_or_rewind_goes_on(tiny: Engine) -> None:
    (end,) = tiny.end_tokens
    run = Generation(tiny, PROMPT, VARIED, 6)
    advance(run, 3)
    run.fork(end)
    with counted(tiny) as passes, pytest.raises(RuntimeError, match=r"end token.*rewind\(\) or fork\(\)"):
        run.decode()
    assert passes == []
    run.fork(65)
    assert run.stop_reason is None
    advance(run, 6)
    assert run.stop_reason == "maximum"
    run.rewind(1)
    assert not run.finished
    assert run.decode().index == 2


def test_the_phases_are_refused_out_of_order(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT)
    with pytest.raises(RuntimeError, match=r"call prefill\(\) before decode\(\)"):
        run.decode()
    with pytest.raises(RuntimeError, match=r"call prefill\(\) first"):
        run.fork(5)
    with pytest.raises(ValueError, match="does not exist"):
        run.rewind(0)
    run.prefill()
    with pytest.raises(RuntimeError, match=r"call decode\(\)"):
        run.prefill()


# Text


def spell(run: Generation, ids: list[int]) -> list[str]:
    """Take steps and force these tokens; the text each one added."""
    for token_id in ids:
        advance(run, 1)
        run.fork(token_id)
    return [step.text for step in run.trace.steps]


EMOJI = "a🧑‍🚀é漢 b"


def test_a_character_split_across_tokens_appears_when_it_is_whole(tiny: Engine) -> None:
    ids = tiny.tokenizer(EMOJI).input_ids
    deltas = spell(Generation(tiny, PROMPT), ids)
    assert "".join(deltas) == tiny.tokenizer.decode(ids) == EMOJI
    assert deltas[:5] == ["a", "", "", "", "🧑"]


@pytest.mark.real_model
def test_an_emoji_of_the_default_model_appears_when_it_is_whole(real: Engine) -> None:
    ids = real.tokenizer(EMOJI).input_ids
    deltas = spell(Generation(real, PROMPT), ids)
    assert "".join(deltas) == real.tokenizer.decode(ids) == EMOJI
    assert not any("\N{REPLACEMENT CHARACTER}" in delta for delta in deltas)


def test_text_rewound_into_the_middle_of_a_character_is_completed_again(tiny: Engine) -> None:
    run, ids = Generation(tiny, PROMPT), tiny.tokenizer("🧑!").input_ids
    spell(run, ids)
    run.rewind(1)
    assert run.trace.text == ""
    for token_id in ids[2:]:
        run.decode()
        run.fork(token_id)
    assert run.trace.text == "🧑!"


def test_half_a_character_at_the_end_is_shown_as_replaced(tiny: Engine) -> None:
    run, ids = Generation(tiny, PROMPT, max_new_tokens=3), tiny.tokenizer("🧑").input_ids[:3]
    deltas = spell(run, ids)
    assert "".join(deltas) == tiny.tokenizer.decode(ids) == "\N{REPLACEMENT CHARACTER}"


def test_random_bytes_join_to_what_the_tokenizer_decodes(tiny: Engine) -> None:
    run = Generation(tiny, PROMPT, SamplingParams(temperature=2.0, seed=9), 120)
    steps = advance(run, 120)
    assert run.trace.text == tiny.tokenizer.decode([s.token_id for s in steps], skip_special_tokens=True)


# Refusals


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("", "empty"),
        ("  \n\t ", "empty"),
        ("half \ud83d a character", "half a character at position 5"),
        ("a" * 513, r"513 tokens.*512.*shorten"),
    ],
)
def test_a_prompt_that_cannot_be_run_is_refused_before_any_pass(tiny: Engine, prompt: str, message: str) -> None:
    with counted(tiny) as passes, pytest.raises(ValueError, match=message):
        Generation(tiny, prompt)
    assert passes == []


@pytest.mark.parametrize(
    "options",
    [{"max_new_tokens": 0}, {"max_new_tokens": True}, {"max_new_tokens": 1.5}, {"stop": "x"}, {"stop": [""]}],
)
def test_options_that_make_no_sense_are_refused(tiny: Engine, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Generation(tiny, PROMPT, **options)


# Trouble and memory


def whole_model(engine: Engine) -> Any:
    return engine.model


def second_layer(engine: Engine) -> Any:
    """Where it fails after the first layer's cache has grown."""
    return engine.model.model.layers[1]


@pytest.mark.slow
@pytest.mark.parametrize("place", [whole_model, second_layer])
@pytest.mark.parametrize("error", [RuntimeError("broken"), torch.OutOfMemoryError("out of memory")])
@pytest.mark.parametrize("num_before", [0, 1, 4])
@pytest.mark.parametrize("params", SETTINGS)
def test_a_failed_pass_leaves_the_run_able_to_go_on(
    tiny: Engine, place: Callable[[Engine], Any], error: Exception, num_before: int, params: SamplingParams
) -> None:
    undisturbed, run = Generation(tiny, PROMPT, params), Generation(tiny, PROMPT, params)
    advance(undisturbed, 8)
    advance(run, num_before)
    expected = OutOfMemoryError if isinstance(error, torch.OutOfMemoryError) else RuntimeError
    with failing_once(place(tiny), error), pytest.raises(expected):
        advance(run, 1)
    assert len(run.trace.steps) == num_before
    advance(run, 8 - num_before)
    assert token_ids(run) == token_ids(undisturbed)
    assert len(run.trace.key_norms) == run.num_cached == run.trace.steps[-1].context_len


def test_a_failed_rebuild_leaves_the_run_able_to_go_on(tiny: Engine) -> None:
    undisturbed, run = Generation(tiny, PROMPT, VARIED), Generation(tiny, PROMPT, VARIED)
    advance(undisturbed, 8)
    advance(run, 4)
    run.release_cache()
    with failing_once(second_layer(tiny), RuntimeError("broken")), pytest.raises(RuntimeError, match="broken"):
        run.decode()
    advance(run, 4)
    assert token_ids(run) == token_ids(undisturbed)


@pytest.mark.parametrize("params", SETTINGS)
def test_a_released_cache_is_rebuilt_with_the_same_tokens(tiny: Engine, params: SamplingParams) -> None:
    undisturbed, run = Generation(tiny, PROMPT, params), Generation(tiny, PROMPT, params)
    advance(undisturbed, 8)
    advance(run, 4)
    run.release_cache()
    assert (run.num_cached, run.kv_bytes) == (0, 0)
    with counted(tiny) as passes:
        advance(run, 4)
    assert passes == [len(PROMPT) + 3, 1, 1, 1, 1]
    assert token_ids(run) == token_ids(undisturbed)
    assert [step.rebuild_s > 0 for step in run.trace.steps] == [index == 4 for index in range(8)]


def test_a_run_whose_cache_was_released_can_be_rewound_and_forked(tiny: Engine) -> None:
    undisturbed, run = Generation(tiny, PROMPT, VARIED), Generation(tiny, PROMPT, VARIED)
    for generation in (undisturbed, run):
        advance(generation, 6)
    run.release_cache()
    for generation in (undisturbed, run):
        generation.rewind(2)
        generation.fork(generation.trace.steps[2].candidates[5].token_id)
        advance(generation, 4)
    assert token_ids(run) == token_ids(undisturbed)


SHAPE = {
    **{"num_hidden_layers": 2, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4},
    **{"num_key_value_heads": 2, "head_dim": 8, "vocab_size": 320, "max_position_embeddings": 512},
    **{"sliding_window": 8, "bos_token_id": 256, "eos_token_id": 257, "pad_token_id": 257},
}


@pytest.mark.parametrize(
    ("config", "model"), [(MistralConfig, MistralForCausalLM), (Gemma2Config, Gemma2ForCausalLM)]
)
def test_a_model_with_sliding_windows_runs_past_its_window_and_back(config: Any, model: Any) -> None:
    engine = Engine(model(config(**SHAPE)), byte_tokenizer(), name="w", revision="", has_random_weights=True)
    run = Generation(engine, PROMPT, VARIED, 20)
    advance(run, 12)
    before = token_ids(run)
    assert before == generate(engine, PROMPT, chat_template=False, num_tokens=12, repetition_penalty=1.3)
    run.rewind(3)
    advance(run, 8)
    assert token_ids(run) == before
    assert Trace.from_json(run.trace.to_json()).steps == run.trace.steps
