"""What strangers send to stall, fill or break a server: one list for each kind of input, by what it does.

A new finding gets a line here, and every test of its kind then tries it.
"""

import json
from typing import Any


def _product(num_parts: int) -> dict[str, Any]:
    """Two alternatives in each part of an allOf: 2 to the number of parts combinations."""
    return {
        "allOf": [
            {"anyOf": [{"type": "string", "pattern": f"a{place}"}, {"type": "integer", "minimum": place}]}
            for place in range(num_parts)
        ]
    }


def _chain(num_links: int, keyword: str) -> dict[str, Any]:
    """Each definition asks for the next one twice."""
    links = {
        f"d{place}": {keyword: [{"$ref": f"#/$defs/d{place + 1}"}, {"$ref": f"#/$defs/d{place + 1}"}]}
        for place in range(num_links)
    }
    return {"$defs": links | {f"d{num_links}": {"type": "integer"}}, "$ref": "#/$defs/d0"}


COUNTED_SCHEMAS: dict[str, dict[str, Any]] = {
    "a product of alternatives": _product(60),
    "a product under a property": {"type": "object", "properties": {"a": {"items": _product(60)}}},
    "a product by references": {
        "$defs": {f"d{place}": part for place, part in enumerate(_product(60)["allOf"])},
        "allOf": [{"$ref": f"#/$defs/d{place}"} for place in range(60)],
    },
    "a product of doubled references": _chain(40, "allOf") | {"$defs": _chain(40, "anyOf")["$defs"]},
    "anyOf beside anyOf": {
        "allOf": [{"oneOf": [{"const": 1}] * 9, "anyOf": [{"minimum": place}] * 9} for place in range(9)]
    },
}
"""More combinations than are taken: refused by counting."""

SCHEMAS: dict[str, dict[str, Any]] = {
    "a multiple of millions": {"type": "integer", "multipleOf": 9_999_999},
    "a multiple of several primes": {"allOf": [{"multipleOf": p} for p in (9_973, 9_967, 9_949, 9_941)]},
    "alternatives that meet in one property": {
        "allOf": [{"properties": {"q": part}} for part in _product(60)["allOf"]]
    },
    "alternatives that meet in the items": {"allOf": [{"items": part} for part in _product(60)["allOf"]]},
    "two thousand properties": {
        "type": "object",
        "properties": {f"p{place}": {"type": "string"} for place in range(1_800)},
    },
    "a thousand patterns": {"anyOf": [{"type": "string", "pattern": f"^a{i}.*b{i}$"} for i in range(900)]},
    "a billion items": {"type": "array", "items": {"type": "null"}, "minItems": 10**9},
    "a billion characters": {"type": "string", "minLength": 10**9},
    "a number of digits": {"type": "integer", "minimum": -(10**300), "maximum": 10**300},
    "itself twice": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "array", "items": {"$ref": "#"}}]},
    "references in a circle": {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "$ref": "#/$defs/a",
    },
    "a chain of references": {
        "$defs": {f"d{place}": {"$ref": f"#/$defs/d{place + 1}"} for place in range(1_500)},
        "$ref": "#/$defs/d0",
    },
    "doubled references": _chain(40, "anyOf"),
    "a reference to a list": {"allOf": [{"type": "integer"}], "$ref": "#/allOf"},
    "items as a list": {"type": "array", "items": [{"const": 1}]},
    "properties of no schema": {"properties": {"a": 3}},
    "patterns of no expression": {"type": "string", "pattern": "(?P<a>"},
    "names of half a character": {"properties": {"\ud800": {}}},
    "types of a list of lists": {"type": [["string"]]},
    "required as a number": {"type": "object", "required": 3},
    "allOf as an object": {"allOf": {"type": "integer"}},
}
"""What no count bounds: refused in the end, or run within bounds."""

REGEXES = {
    "repeats of repeats": "(a{1,1000}){1,1000}",
    "three deep": "((a{1,1000}b){1,1000}c){1,1000}",
    "backtracking": "(x+x+)+y",
    "many dots": "(.*[ab].*c){200}",
    "a state for every subset": "(a|b)*a(a|b){200}",
    "a state for every subset of all": "(.|\n)*a(.|\n){500}",
    "alternatives": "|".join(f"a{place}.*b{place}" for place in range(150)),
    "all of Unicode": r"\p{L}{1,500}(\p{N}\p{L}*){100}",
    "nested": "(" * 900 + "a" + ")" * 900,
    "half a character": "\ud800",
    "an intersection": "&&".join(["[a-z]"] * 300),
}

CHOICES = {
    "a thousand that begin alike": "\n".join("a" * length for length in range(1, 361)),
    "quotes and grammar": '"\n\\\n/a/\n%json {}\nstart: "x"\n<[0]>\n\x00\n\u2028',
    "a special token": "<|end|>\n<|im_end|>",
}

RECURSIONS = {
    "lists": "[" * 100_000,
    "objects": '{"a":' * 100_000,
    "schemas": '{"items":' * 60_000 + "{}" + "}" * 60_000,
}
"""JSON texts that nest deeper than any reader follows."""


def _verdicts() -> dict[str, tuple[str, str]]:
    doubling = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}
    return {
        "failing twice as often each time": (
            json.dumps({"$defs": doubling | {"d40": {"const": 1}}, "$ref": "#/$defs/d0"}),
            "2",
        ),
        "itself": ('{"$ref": "#"}', "2"),
        "elsewhere": ('{"$ref": "http://127.0.0.1:9/nobody"}', "2"),
        "backtracking": (json.dumps({"pattern": r"^(\w|\w\w)*[!?]$"}), json.dumps("x" * 60)),
        "every item with every other": (
            '{"uniqueItems": true}',
            json.dumps([{"a": [place]} for place in range(20_000)]),
        ),
        "an enum of lists": (
            json.dumps({"items": {"enum": [[place, [place]] for place in range(6_000)]}}),
            json.dumps([[5_999, [5_999]]] * 6_000),
        ),
    }


VERDICTS = _verdicts()
"""Schemas and texts on which a checker would work for ever, or for minutes."""
