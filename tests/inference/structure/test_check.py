"""The second opinion on an output: right where it is quick, silent where it would take for ever."""

import json

import pytest

from inference.structure.check import is_valid
from inference.structure.records import Constraint, Kind

OBJECT = json.dumps(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}, "b": {"$ref": "#/$defs/b"}},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"b": {"type": "integer", "maximum": 3}},
    }
)


@pytest.mark.parametrize(
    ("kind", "source", "text", "verdict"),
    [
        ("JSON schema", OBJECT, '{"a": "x", "b": 3}', True),
        ("JSON schema", OBJECT, '{"a": "x", "b": 4}', False),
        ("JSON schema", OBJECT, '{"a": "X"}', False),
        ("JSON schema", OBJECT, '{"b": 1}', False),
        ("JSON schema", OBJECT, '{"a": "x", "c": 1}', False),
        ("JSON schema", OBJECT, '{"a": "x"', False),
        ("JSON schema", OBJECT, 'Here it is: {"a": "x"}', False),
        ("JSON schema", OBJECT, "", False),
        ("regular expression", "a|ab", "ab", True),
        ("regular expression", "a|ab", "abc", False),
        ("regular expression", "[a-z&&[^aeiou]]+", "xyz", True),
        ("choices", " Mars \nVenus", "Mars", True),
        ("choices", " Mars \nVenus", "mars", False),
    ],
)
def test_the_whole_text_is_judged(kind: Kind, source: str, text: str, verdict: bool) -> None:
    assert is_valid(Constraint(kind, source), text) is verdict


DRAFT_4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("draft", "schema", "text", "verdict"),
    [
        (DRAFT_4, {"type": "integer", "minimum": 3, "exclusiveMinimum": True}, "3", False),
        (DRAFT_4, {"type": "integer", "minimum": 3, "exclusiveMinimum": True}, "4", True),
        (DRAFT_4, {"items": [{"enum": [1]}], "additionalItems": False}, "[1]", True),
        (DRAFT_4, {"items": [{"enum": [1]}], "additionalItems": False}, "[1, 2]", False),
        (DRAFT_4.replace("04", "06"), {"exclusiveMinimum": 3, "const": 3}, "3", False),
        (DRAFT_4.replace("04", "07"), {"items": [{"const": 1}]}, "[2]", False),
        ("https://json-schema.org/draft/2019-09/schema", {"items": [{"const": 1}]}, "[2]", False),
        ("https://json-schema.org/draft/2020-12/schema", {"prefixItems": [{"const": 1}]}, "[2]", False),
    ],
)
def test_a_schema_is_judged_by_the_draft_it_names(
    draft: str, schema: dict[str, object], text: str, verdict: bool
) -> None:
    assert is_valid(Constraint("JSON schema", json.dumps({"$schema": draft} | schema)), text) is verdict


def _doubling(depth: int) -> str:
    """Each definition asks the next one twice: 2 to the depth ways to fail."""
    steps = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(depth)}
    return json.dumps({"$defs": steps | {f"d{depth}": {"const": 1}}, "$ref": "#/$defs/d0"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "source", "text"),
    [
        ("JSON schema", _doubling(40), "2"),
        ("JSON schema", '{"$ref": "#"}', "2"),
        ("JSON schema", '{"$ref": "http://127.0.0.1:9/nobody"}', "2"),
        ("JSON schema", json.dumps({"pattern": r"^(\w|\w\w)*[!?]$"}), json.dumps("x" * 60)),
        ("regular expression", r"(\w|\w\w)*[!?]", "x" * 60),
        ("regular expression", r"\x{41}", "A"),
    ],
)
def test_what_would_take_for_ever_or_cannot_be_read_gets_no_verdict(kind: Kind, source: str, text: str) -> None:
    assert is_valid(Constraint(kind, source), text) is None  # without a deadline the first would take centuries
