"""Output under a constraint: always of the form, and what the mask did is what a count by hand finds."""

import json
import re
from itertools import product

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray

from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.drive import drained
from inference.jobs.experiments import Reports
from inference.run import tokens
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.structure.examples import EXAMPLES
from inference.structure.grammar import Matcher
from inference.structure.records import Constraint, Kind, StructuredRequest, StructuredRun
from inference.structure.run import generate
from tests.inference.incomplete import engine, with_tokens_too_many

NUM_SEEDS = 20


def _object(**properties: object) -> dict[str, object]:
    closed = {"type": "object", "required": list(properties), "additionalProperties": False}
    return closed | {"properties": properties}


# Each bounds its output, so that no run can be cut off at the maximum.
SCHEMAS: dict[str, dict[str, object]] = {
    "flat object": _object(id={"type": "integer", "minimum": -9, "maximum": 99}, ok={"type": "boolean"}),
    "nested": _object(a=_object(b=_object(c={"enum": [1, None, "z"]}))),
    "enum": {"enum": ["yes", "no", 3, 1.5, None, True, {"k": [1]}, '"quoted" \\ \n']},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{2,4}(x|yz)?$"},
    "minItems": {"type": "array", "items": {"enum": [0, "a"]}, "minItems": 2, "maxItems": 4},
    "unicode keys": _object(
        **{"größe": {"type": "integer", "minimum": 0, "maximum": 9}, "人口😀": {"type": "null"}}
    ),
    "string lengths": {"type": "string", "minLength": 2, "maxLength": 5},
    "references": {
        "$ref": "#/$defs/pair",
        "$defs": {"pair": _object(x={"$ref": "#/$defs/d"}), "d": {"enum": [7, 8]}},
    },
    "anyOf": {"anyOf": [{"type": "boolean"}, _object(n={"type": "integer", "minimum": 10, "maximum": 12})]},
    "tuple, optional": {
        "type": "array",
        "prefixItems": [
            {"const": "t"},
            {"type": "object", "properties": {"o": {"const": 1}}} | {"additionalProperties": False},
        ],
        "items": False,
        "minItems": 2,
    },
}


def run(
    engine: Engine,
    kind: Kind,
    source: str,
    *,
    prompt: str = "x",
    params: SamplingParams | None = None,
    maximum: int = 128,
) -> StructuredRun:
    recipe = Recipe(prompt, params or SamplingParams(), maximum)
    return drained(masked(engine, StructuredRequest(Constraint(kind, source), recipe)))[0]


def masked(engine: Engine, request: StructuredRequest) -> Reports[StructuredRun]:
    return generate(engine, request, Matcher(engine, request.constraint))


def free_run(engine: Engine, recipe: Recipe, judge: Constraint | None = None) -> StructuredRun:
    return drained(
        generate(engine, StructuredRequest(judge or Constraint("choices", "x"), recipe, is_masked=False), None)
    )[0]


def ids(run: StructuredRun) -> list[int]:
    return [step.token_id for step in run.steps]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_sampled_output_validates_with_jsonschema(tiny: Engine, name: str) -> None:
    schema = SCHEMAS[name]
    outputs = set()
    for seed in range(NUM_SEEDS):
        found = run(tiny, "JSON schema", json.dumps(schema), params=SamplingParams(temperature=1.0, seed=seed))
        assert found.is_complete, found
        assert found.is_valid, found
        jsonschema.validate(json.loads(found.text), schema, cls=jsonschema.Draft202012Validator)
        outputs.add(found.text)
    assert len(outputs) > 1, "the seeds must lead to different outputs, or this is one run"


def test_two_hundred_runs_over_ten_schemas_are_made() -> None:
    assert len(SCHEMAS) == 10
    assert len(SCHEMAS) * NUM_SEEDS == 200


REGEX = "a(b|cd?){1,2}e?"


def _language(longest: int) -> set[bytes]:
    """Every text of the regular expression, by trying all of them with Python's own module."""
    texts = ("".join(chars) for length in range(longest + 1) for chars in product("abcde", repeat=length))
    return {text.encode() for text in texts if re.fullmatch(REGEX, text)}


def _allowed_by_hand(tiny: Engine, prefix: bytes, language: set[bytes]) -> set[int]:
    id_of = {tiny.token_bytes[token_id]: token_id for token_id in range(256)}
    following = {id_of[text[len(prefix) :][:1]] for text in language if text.startswith(prefix) and text != prefix}
    return following | (set(tiny.end_tokens) if prefix in language else set())


def test_the_mask_is_what_trying_every_continuation_finds(tiny: Engine) -> None:
    language = _language(6)
    id_of = {tiny.token_bytes[token_id]: token_id for token_id in range(256)}
    prefixes = {text[:length] for text in language for length in range(len(text) + 1)}
    assert len(prefixes) > 20
    for prefix in prefixes:
        matcher = Matcher(tiny, Constraint("regular expression", REGEX))
        for byte in prefix:
            matcher.consume(id_of[bytes([byte])])
        allowed = matcher.allowed()
        assert allowed.shape == (tiny.spec.vocab_size,)
        assert set(allowed.nonzero().flatten().tolist()) == _allowed_by_hand(tiny, prefix, language), prefix
        assert matcher.is_accepting == (prefix in language), prefix


@pytest.mark.slow
def test_choices_may_share_a_first_byte_and_one_may_begin_another(tiny: Engine) -> None:
    source = 'é\nè\nParis\nParis "la belle" \\o/'
    id_of = {tiny.token_bytes[token_id]: token_id for token_id in range(256)}
    matcher = Matcher(tiny, Constraint("choices", source))
    assert set(matcher.allowed().nonzero().flatten().tolist()) == {id_of[b"\xc3"], id_of[b"P"]}
    matcher.consume(id_of[b"\xc3"])
    assert set(matcher.allowed().nonzero().flatten().tolist()) == {id_of[b"\xa9"], id_of[b"\xa8"]}
    outputs = {run(tiny, "choices", source, params=SamplingParams(1.0, seed=seed)).text for seed in range(30)}
    assert outputs == set(source.splitlines())


def test_a_tokenizer_with_more_tokens_than_the_model_has_rows_can_be_masked(tiny: Engine) -> None:
    found = run(engine(tiny, with_tokens_too_many()), "choices", "yes\nno")
    assert found.text in ("yes", "no")
    assert found.steps[0].num_allowed == 2


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("params", [SamplingParams(), SamplingParams(temperature=1.0, seed=3)])
def test_each_step_is_what_fresh_passes_and_numpy_find(tiny: Engine, params: SamplingParams) -> None:
    """No cache kept, no masking code of ours: the whole context is fed anew, the allowed tokens come from `re`."""
    found = run(tiny, "regular expression", REGEX, prompt="abc", params=params)
    language, prompt_ids = _language(6), tokens.encode(tiny.tokenizer, "abc", chat_template=True)
    for step in found.steps:
        before = ids(found)[: step.index]
        prefix = b"".join(tiny.token_bytes[token_id] for token_id in before)
        fresh = tiny.forward([*prompt_ids, *before], tiny.new_cache())
        probabilities = _softmax(fresh.logits.double().numpy())
        allowed = sorted(_allowed_by_hand(tiny, prefix, language))
        mass = probabilities[allowed].sum()
        assert step.feasible_mass == pytest.approx(mass, rel=1e-4)
        assert 0 < step.feasible_mass < 1
        assert step.num_allowed == len(allowed)
        assert step.is_forced == (len(allowed) == 1)
        best = int(probabilities.argmax())
        assert step.raw_top[0].token_id == best
        assert step.is_overridden == (best not in allowed)
        if params.is_greedy:
            assert step.token_id == max(allowed, key=lambda token_id: probabilities[token_id])
            assert step.unmasked_id == best
            assert step.is_changed == step.is_overridden
        assert {option.token_id for option in step.masked_top} == set(allowed)
        for option in step.masked_top:
            assert option.probability == pytest.approx(probabilities[option.token_id], rel=1e-4)
            assert option.masked_probability == pytest.approx(probabilities[option.token_id] / mass, rel=1e-4)
        for option in step.raw_top:
            assert option.is_allowed == (option.token_id in allowed)
            assert (option.masked_probability > 0) == option.is_allowed
        assert step.forward_s > 0
        assert step.mask_s > 0


def test_the_mask_comes_before_the_chain(tiny: Engine) -> None:
    """Top-k 1 of the model's own logits is a forbidden token here: cut first, nothing would be left to choose."""
    greedy = run(tiny, "regular expression", "[0-9]{5}")
    assert any(step.is_overridden for step in greedy.steps)
    cut = run(tiny, "regular expression", "[0-9]{5}", params=SamplingParams(temperature=1.0, top_k=1))
    assert cut.text == greedy.text
    assert re.fullmatch("[0-9]{5}", cut.text)


def test_without_a_constraint_the_output_is_the_plain_one(tiny: Engine) -> None:
    for params in (SamplingParams(), SamplingParams(temperature=0.8, seed=5)):
        plain = Generation(tiny, "hello", params, 24, chat_template=True)
        plain.prefill()
        while not plain.finished:
            plain.decode()
        found = free_run(tiny, Recipe("hello", params, 24))
        assert ids(found) == [step.token_id for step in plain.trace.steps]
        assert found.text == plain.trace.text
        assert all(step.feasible_mass == 1 and not step.is_overridden and step.mask_s == 0 for step in found.steps)


def test_a_constraint_that_allows_what_comes_anyway_changes_nothing(tiny: Engine) -> None:
    free = free_run(tiny, Recipe("hello", SamplingParams(), 8))
    assert len(free.text) == 8, "the tiny model's text is no longer one character a token; choose another prompt"
    found = run(tiny, "regular expression", "(?s).{8}", prompt="hello")
    assert found.text == free.text
    assert not any(step.is_changed or step.is_overridden for step in found.steps)


def test_the_same_seed_gives_the_same_output(tiny: Engine) -> None:
    outputs = [
        run(tiny, "regular expression", "[a-z]{9}", params=SamplingParams(1.0, seed=s)).text for s in (1, 1, 2)
    ]
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize(
    ("regex", "prompt", "ending", "is_complete"),
    [
        ("[a-z]{4}", "x", "constraint met", True),
        ("[a-z]{200}", "x", "maximum", False),
        ("[a-z]+", "x" * 485, "context full", True),
        ("[a-z]{100}", "x" * 485, "context full", False),
    ],
)
def test_a_run_says_how_it_ended_and_whether_it_is_whole(
    tiny: Engine, regex: str, prompt: str, ending: str, is_complete: bool
) -> None:
    found = run(tiny, "regular expression", regex, prompt=prompt, maximum=32)
    assert (found.ending, found.is_complete, found.is_valid) == (ending, is_complete, is_complete)
    assert is_complete == (re.fullmatch(regex, found.text) is not None)


def test_the_end_token_is_taken_only_where_the_text_may_end(tiny: Engine) -> None:
    """And it is a step of its own: the pass that found it was run."""
    bias = SamplingParams(logit_bias=dict.fromkeys(tiny.end_tokens, 100.0))
    found = run(tiny, "regular expression", "[a-z]{3,9}", params=bias)
    assert (found.ending, found.is_complete, found.is_valid) == ("end token", True, True)
    assert len(found.text) == 3
    assert len(found.steps) == 4


def test_the_run_is_reported_after_every_pass_and_never_changed(tiny: Engine) -> None:
    recipe = Recipe("x", SamplingParams(), 32)
    found, reports = drained(masked(tiny, StructuredRequest(Constraint("regular expression", "[a-z]{6}"), recipe)))
    partials = [report.partial for report in reports if report.partial]
    assert [len(partial.steps) for partial in partials] == [1, 2, 3, 4, 5]
    assert all(partial.ending is None and not partial.is_complete for partial in partials)
    assert [partial.steps for partial in partials] == [found.steps[:length] for length in (1, 2, 3, 4, 5)]


@pytest.mark.real_model
@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_met_by_the_default_model(real: Engine, name: str) -> None:
    example = EXAMPLES[name]
    recipe = Recipe(example.prompt, SamplingParams(), 96)
    found, _ = drained(masked(real, StructuredRequest(example.constraint, recipe)))
    assert found.is_complete
    assert found.is_valid
    assert any(step.is_overridden for step in found.steps)
    if example.constraint.kind == "JSON schema":
        jsonschema.validate(json.loads(found.text), json.loads(example.constraint.source))


@pytest.mark.real_model
def test_the_wrong_answer_is_valid_and_the_model_free_of_the_mask_knows_better(real: Engine) -> None:
    example = EXAMPLES["wrong"]
    recipe = Recipe(example.prompt, SamplingParams(), 40)
    kept_to, _ = drained(masked(real, StructuredRequest(example.constraint, recipe)))
    free = free_run(real, recipe, example.constraint)
    assert kept_to.is_valid
    assert "Paris" not in kept_to.text
    assert "Paris" in free.text
    assert not free.is_valid
