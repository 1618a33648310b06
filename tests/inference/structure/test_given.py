"""Constraints from strangers: each refusal is one sentence, nothing hangs, nothing is fetched."""

import json
import socket
import time

import pytest

from inference.engine import Engine
from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.structure.given import MAX_BYTES, check
from inference.structure.grammar import Matcher
from inference.structure.job import structured_job
from inference.structure.records import Constraint, Kind, StructuredRequest
from tests.inference.structure.test_run import masked

LIMITS = Limits()
SCHEMA: Kind = "JSON schema"
REGEX: Kind = "regular expression"
CHOICES: Kind = "choices"


def _refusal(engine: Engine, kind: Kind, source: str) -> str:
    job = structured_job("a run", lambda: StructuredRequest(Constraint(kind, source), Recipe("x")))
    with pytest.raises(ValueError, match=r"\S") as caught:
        job.begin(engine, LIMITS)
    return str(caught.value)


def _drafted(name: str, **keywords: object) -> str:
    return json.dumps({"$schema": f"http://json-schema.org/{name}/schema#"} | keywords)


@pytest.mark.parametrize(
    ("kind", "source", "words"),
    [
        (SCHEMA, '{"enum": ["' + "x" * 1_048_576 + '"]}', ["1,048,590 bytes", "65,536", "shorten"]),
        (CHOICES, "x\n" * 1_000_000, ["2,000,000 bytes", "shorten"]),
        (SCHEMA, "  \n", ["empty", "example"]),
        (SCHEMA, '{"type": "integer",}', ["not JSON", "line 1, column 20", "correct it"]),
        (SCHEMA, "{'type': 'integer'}", ["not JSON", "line 1, column 2"]),
        (SCHEMA, '{"minimum": NaN}', ["NaN is not a JSON number"]),
        (SCHEMA, '{"minimum": ' + "9" * 5000 + "}", ["cannot be read"]),
        (SCHEMA, "true", ["is an object, got true"]),
        (SCHEMA, "[1]", ["is an object, got [1]"]),
        (SCHEMA, "[" * 50_000, ["nests more than 64"]),
        (SCHEMA, '{"items":' * 100 + "{}" + "}" * 100, ["nests more than 64", "flatten"]),
        (SCHEMA, '{"type": "string", "colour": 3}', ["unknown keyword 'colour'", "remove it"]),
        (
            SCHEMA,
            '{"properties": {"age": {"minimun": 3}}}',
            ["unknown keyword 'minimun' at /properties/age", "did you mean minimum?"],
        ),
        (SCHEMA, '{"x-guidance": {"lenient": true}, "not": {}}', ["unknown keyword 'x-guidance'"]),
        (SCHEMA, '{"patternProperties": {"(a+)+$": {}}}', ["patternProperties", "not offered"]),
        (SCHEMA, '{"type": "number", "not": {}}', ["Unimplemented", "not", "change that part"]),
        (SCHEMA, '{"type": "wish"}', ["Invalid type: wish"]),
        (SCHEMA, '{"type": "array", "minItems": "two"}', ["minItems", "two"]),
        (SCHEMA, '{"type": "integer", "minimum": 5, "maximum": 1}', ["minimum (5) is greater than maximum (1)"]),
        (SCHEMA, '{"enum": []}', ["Unsatisfiable", "empty"]),
        (SCHEMA, '{"type": "string", "pattern": "("}', ["unclosed group"]),
        (SCHEMA, '{"$ref": "#"}', ["no output can meet"]),
        (SCHEMA, '{"$ref": "#/$defs/nobody"}', ["/$defs/nobody", "does not exist"]),
        (SCHEMA, '{"$ref": "http://example.com/person.json"}', ["http://example.com/person.json", "$defs"]),
        (SCHEMA, '{"items": [{"$ref": "file:///etc/passwd"}]}', ["file:///etc/passwd", "nothing is fetched"]),
        (SCHEMA, '{"properties": {"a": {"$schema": "http://x.y"}}}', ["$schema at /properties/a", "top"]),
        (SCHEMA, '{"exclusiveMinimum": true, "minimum": 3}', ["by 2020-12, exclusiveMinimum is wrong", "$schema"]),
        (SCHEMA, '{"items": [{"const": 1}]}', ["by 2020-12, items is wrong", "$schema"]),
        (SCHEMA, _drafted("draft-04", minimum=1, exclusiveMinimum=3), ["by draft-04, exclusiveMinimum is wrong"]),
        (SCHEMA, _drafted("draft-04", const=3), ["of draft-04", "'const'", "name 2020-12 as $schema"]),
        (SCHEMA, _drafted("draft-07", prefixItems=[]), ["of draft-07", "'prefixItems'"]),
        (SCHEMA, _drafted("draft-07", **{"$ref": "#/$defs/a", "minimum": 3}), ["minimum stands beside a $ref"]),
        (SCHEMA, _drafted("draft-03", type="integer"), ["none of the drafts offered, draft-04", "leave it out"]),
        (SCHEMA, '{"$schema": 4}', ["$schema '4' is none of the drafts"]),
        (REGEX, "", ["empty"]),
        (REGEX, "(", ["unclosed group", "change that part"]),
        (REGEX, "a" * 2_001, ["2,001 characters", "2,000", "shorten"]),
        (REGEX, r"(a)\1", ["backreferences are not supported"]),
        (REGEX, "a(?=b)", ["look-ahead"]),
        (REGEX, "(" * 900 + "a" + ")" * 900, ["nest"]),
        (REGEX, r"[^\s\S]", ["no output can meet"]),
        (CHOICES, "\n \n", ["empty"]),
        (CHOICES, "\n".join(map(str, range(1_001))), ["1,001 choices", "1,000"]),
        (CHOICES, "\ud800", ["surrogate"]),
    ],
)
def test_what_cannot_be_kept_to_is_refused_in_one_sentence(
    tiny: Engine, kind: Kind, source: str, words: list[str]
) -> None:
    told = _refusal(tiny, kind, source)
    for word in words:
        assert word in told
    assert "\n" not in told
    assert len(told) < 400


def test_a_recursive_schema_with_local_references_is_taken(tiny: Engine) -> None:
    tree = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}, "maxItems": 1}},
        "required": ["kids"],
        "additionalProperties": False,
    }
    constraint = Constraint(SCHEMA, json.dumps(tree))
    recipe = Recipe("x", SamplingParams(temperature=1.0, seed=1), 300)
    job = structured_job("a run", lambda: StructuredRequest(constraint, recipe))
    found, _ = drained(job.begin(tiny, LIMITS))
    assert found.is_complete
    assert found.is_valid


@pytest.mark.parametrize(
    ("draft", "schema", "allowed"),
    [
        ("draft-04", {"minimum": 3, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": True}, {"4"}),
        ("draft-04", {"minimum": 3, "exclusiveMinimum": False, "maximum": 5}, {"3", "4", "5"}),
        ("draft-06", {"exclusiveMinimum": 3, "maximum": 5}, {"4", "5"}),
        ("draft-07", {"exclusiveMinimum": 3, "exclusiveMaximum": 5}, {"4"}),
    ],
)
def test_the_mask_reads_a_schema_by_the_draft_it_names(
    tiny: Engine, draft: str, schema: dict[str, object], allowed: set[str]
) -> None:
    constraint = Constraint(SCHEMA, _drafted(draft, type="integer", **schema))
    found = set()
    for seed in range(12):
        recipe = Recipe("x", SamplingParams(temperature=1.0, seed=seed), 4)
        job = structured_job("a run", lambda recipe=recipe: StructuredRequest(constraint, recipe))  # type: ignore[misc]
        run, _ = drained(job.begin(tiny, LIMITS))
        assert run.is_valid
        found.add(run.text)
    assert found == allowed


def test_a_reference_to_the_network_opens_no_connection(tiny: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        source = json.dumps({"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"})
        with pytest.raises(ValueError, match="nothing is fetched"):
            check(Constraint(SCHEMA, source))
        with pytest.raises(ValueError, match="does not fetch"):  # nor does the library, were it ever asked
            Matcher(tiny, Constraint(SCHEMA, source))
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array", "items": {"type": "null"}, "minItems": 100_000}, "grew too complex after"),
        (
            {"allOf": [{"anyOf": [{"properties": {f"{a}{i}": {"const": 1}}} for a in "pq"]} for i in range(20)]},
            "too large",
        ),
    ],
)
def test_a_schema_that_grows_past_the_librarys_limits_is_refused(
    tiny: Engine, schema: dict[str, object], words: str
) -> None:
    constraint, recipe = Constraint(SCHEMA, json.dumps(schema)), Recipe("x", SamplingParams(), 40)
    with pytest.raises(ValueError, match=words):
        drained(masked(tiny, StructuredRequest(constraint, recipe)))


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (Recipe(" "), "prompt is empty"),
        (Recipe("x", max_new_tokens=0), "from 1 to"),
        (Recipe("x" * 600), "context holds 512"),
        (Recipe("x" * 200_000), "200,000 characters"),
    ],
)
def test_the_rest_of_the_request_is_checked_too(tiny: Engine, recipe: Recipe, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        structured_job("a run", lambda: StructuredRequest(Constraint(REGEX, "a"), recipe)).begin(tiny, LIMITS)


def test_the_largest_schema_taken_is_refused_or_run_in_a_moment(tiny: Engine) -> None:
    words = [f"word {place}" for place in range(5_000)]
    source = json.dumps({"enum": words})
    assert MAX_BYTES * 0.9 < len(source) < MAX_BYTES
    start = time.monotonic()
    found, _ = drained(
        masked(tiny, StructuredRequest(Constraint(SCHEMA, source), Recipe("x", SamplingParams(), 40)))
    )
    assert json.loads(found.text) in words
    assert time.monotonic() - start < 5


def test_a_job_takes_what_is_asked_when_it_starts_and_belongs_to_one_learner(tiny: Engine) -> None:
    typed = ["first"]
    job = structured_job("a run", lambda: StructuredRequest(Constraint(CHOICES, typed[0]), Recipe("x")))
    typed[0] = "second"
    work = job.begin(tiny, LIMITS)
    typed[0] = "third"
    assert drained(work)[0].text == "second"
    assert not job.is_kept
