"""Refuses a constraint that is too large or is not what it should be, before any work; nothing is ever fetched."""

import difflib
import json
from collections.abc import Iterator
from typing import Any

from inference.structure.combinations import MAX_COMBINATIONS, Counter
from inference.structure.drafts import NEWEST, NOT_OFFERED, SchemaDraft, draft_of
from inference.structure.records import Constraint, choices

MAX_BYTES = 65_536
MAX_REGEX_CHARS = 2_000
MAX_CHOICES = 1_000
MAX_DEPTH = 64
_MAPS_OF_SCHEMAS = {"properties", "$defs", "definitions", "dependentSchemas", "dependencies"}
_LISTS_OF_SCHEMAS = {"anyOf", "allOf", "oneOf", "prefixItems"}
_SCHEMAS = {
    "items",
    "additionalItems",
    "additionalProperties",
    "not",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
}
_SCHEMAS |= {"unevaluatedItems", "unevaluatedProperties"}


def check(constraint: Constraint) -> None:
    """ValueError in one sentence that names the value, the rule and the remedy."""
    kind, source = constraint.kind, constraint.source
    num_bytes = len(source.encode(errors="backslashreplace"))
    if num_bytes > MAX_BYTES:
        raise ValueError(f"the {kind} has {num_bytes:,} bytes; at most {MAX_BYTES:,} are taken: shorten it")
    if not source.strip():
        raise ValueError(f"the {kind} is empty; write one or choose an example")
    if any("\ud800" <= char <= "\udfff" for char in source):
        raise ValueError(f"the {kind} holds half a character (a lone surrogate); delete it")
    match kind:
        case "JSON schema":
            _check_schema(_parsed(source))
        case "regular expression":
            if len(source) > MAX_REGEX_CHARS:
                raise ValueError(
                    f"the {kind} has {len(source):,} characters; at most {MAX_REGEX_CHARS:,} are taken: shorten it"
                )
        case "choices":
            if (num := len(choices(source))) > MAX_CHOICES:
                raise ValueError(f"there are {num:,} choices; at most {MAX_CHOICES:,} are taken: delete some lines")


def _parsed(source: str) -> object:
    try:
        return json.loads(source, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"the JSON schema is not JSON: {error.msg} at {where}; correct it there") from None
    except RecursionError:
        raise ValueError(_too_deep()) from None
    except ValueError as error:  # a number of thousands of digits, or NaN
        raise ValueError(f"the JSON schema cannot be read ({str(error)[:200]}); correct it") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _too_deep() -> str:
    return f"the JSON schema nests more than {MAX_DEPTH} levels deep; flatten it, or use $ref for what repeats"


def _check_schema(schema: object) -> None:
    """Refuse unknown keywords, which a validator would pass over in silence, and references to elsewhere."""
    if not isinstance(schema, dict):
        raise ValueError(f"a JSON schema here is an object, got {json.dumps(schema)[:40]}; write {{...}}")
    draft, counter = draft_of(schema), Counter(schema)
    waiting: list[tuple[str, Any, int]] = [("", schema, 0)]
    while waiting:
        path, node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(_too_deep())
        if isinstance(node, dict):
            _check_references(node, path, draft)
            if counter.count(node) > MAX_COMBINATIONS:
                raise ValueError(
                    f"allOf, anyOf and oneOf{_at(path)} make more than {MAX_COMBINATIONS:,} combinations, and each "
                    "is tried; give allOf fewer parts with alternatives, or write those you mean as one anyOf"
                )
            for name, value in node.items():
                _check_keyword(name, value, path, draft)
                waiting += [(f"{path}/{name}{tail}", part, depth + 1) for tail, part in _subschemas(name, value)]


def _check_keyword(name: str, value: object, path: str, draft: SchemaDraft) -> None:
    where = _at(path)
    if name in NOT_OFFERED:
        raise ValueError(f"{name}{where} is not offered here; name the properties under properties")
    if name not in draft.keywords:
        near = difflib.get_close_matches(name, draft.keywords, n=1)
        remedy = f"did you mean {near[0]}?" if near else "remove it or correct its spelling"
        if name in NEWEST.keywords:
            remedy = f"remove it, or name {NEWEST.name} as $schema"
        of = "" if draft is NEWEST else f" of {draft.name}"
        raise ValueError(f"the JSON schema{of} has the unknown keyword {name[:40]!r}{where}; {remedy}")
    if name == "$schema" and path:
        raise ValueError(f"$schema{where} may only stand at the top of the schema; remove it there")


def _check_references(node: dict[str, Any], path: str, draft: SchemaDraft) -> None:
    if "$ref" not in node:
        return
    if not str(node["$ref"]).startswith("#"):
        raise ValueError(
            f"$ref {str(node['$ref'])[:80]!r}{_at(path)} points out of the schema, and nothing is fetched from "
            "elsewhere; copy that part under $defs and refer to it as #/$defs/its name"
        )
    beside = sorted(node.keys() & set(draft.validator.VALIDATORS) - {"$ref"})
    if draft.has_lone_references and beside:
        raise ValueError(
            f"{beside[0]}{_at(path)} stands beside a $ref, where {draft.name} passes it over; put the two into an "
            f"allOf, or name {NEWEST.name} as $schema"
        )


def _at(path: str) -> str:
    return f" at {path[:100]}" if path else ""


def _subschemas(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if name in _MAPS_OF_SCHEMAS and isinstance(value, dict):
        yield from ((f"/{key}", part) for key, part in value.items())
    elif name in _LISTS_OF_SCHEMAS | {"items"} and isinstance(value, list):  # older drafts list items
        yield from ((f"/{place}", part) for place, part in enumerate(value))
    elif name in _SCHEMAS:
        yield "", value
