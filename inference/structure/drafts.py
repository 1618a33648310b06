"""The drafts of JSON Schema: which one a schema is written in, by its own `$schema`, and what that one knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
from jsonschema.exceptions import best_match

# it hands a learner's expression to a checker without a time limit
NOT_OFFERED = {"patternProperties"}
_ANNOTATIONS = {"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "description", "default"}
_ANNOTATIONS |= {"examples", "deprecated", "readOnly", "writeOnly"}
_DRAFT_4 = {"id", "exclusiveMinimum", "exclusiveMaximum"}  # there the last two are read with minimum and maximum


@dataclass(frozen=True, slots=True)
class SchemaDraft:
    name: str
    validator: Any
    """jsonschema's class for it."""
    has_lone_references: bool = False
    """Whether what stands beside a `$ref` is passed over."""

    @property
    def keywords(self) -> set[str]:
        older = _DRAFT_4 if self.validator is Draft4Validator else set()
        return (set(self.validator.VALIDATORS) | _ANNOTATIONS | older) - NOT_OFFERED


NEWEST = SchemaDraft("2020-12", Draft202012Validator)
_DRAFTS = {
    "http://json-schema.org/draft-04/schema": SchemaDraft("draft-04", Draft4Validator, has_lone_references=True),
    "http://json-schema.org/draft-06/schema": SchemaDraft("draft-06", Draft6Validator, has_lone_references=True),
    "http://json-schema.org/draft-07/schema": SchemaDraft("draft-07", Draft7Validator, has_lone_references=True),
    "https://json-schema.org/draft/2019-09/schema": SchemaDraft("2019-09", Draft201909Validator),
    "https://json-schema.org/draft/2020-12/schema": NEWEST,
}


def draft_of(schema: Mapping[str, Any]) -> SchemaDraft:
    """The newest where it names none. ValueError for one that is not offered."""
    if "$schema" not in schema:
        return NEWEST
    named = schema["$schema"]
    draft = _DRAFTS.get(named.removesuffix("#")) if isinstance(named, str) else None
    if draft is None:
        offered = ", ".join(known.name for known in _DRAFTS.values())
        raise ValueError(
            f"$schema {str(named)[:80]!r} is none of the drafts offered, {offered}; name one of them as its own "
            f"schemas do, like {next(iter(_DRAFTS))}#, or leave it out for {NEWEST.name}"
        )
    return draft


def check_against_its_draft(schema: Mapping[str, Any]) -> None:
    """ValueError if the draft's own schema refuses this one: mask and judge might each read it in their own way."""
    draft = draft_of(schema)
    checker = draft.validator(draft.validator.META_SCHEMA)
    problem = best_match(checker.iter_errors(schema))
    if problem is not None:
        where = "/".join(map(str, problem.absolute_path))
        raise ValueError(
            f"by {draft.name}, {where[:80] or 'the schema'} is wrong: {problem.message[:120]}; correct it, or name "
            "the draft it is written in as $schema"
        )
