"""A constraint as a grammar of llguidance, whose limits keep each step of it short; and its trial elsewhere.

Imports no torch: the trial runs in a process that must start at once.
"""

import json
from functools import cache
from typing import Any

from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

from inference.jobs import killable
from inference.structure.drafts import check_against_its_draft
from inference.structure.records import Constraint, choices

DEADLINE_S = 2.0
# Spaces as Python's json.dumps writes them. Were they free, a small model could write spaces for ever.
_SPACING: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_LIMITS = LLParserLimits(
    max_lexer_states=50_000,  # of 1 to 2 kB
    verbose_errors=False,
)


def try_out(constraint: Constraint) -> None:
    """Compile it where that can be ended; ValueError if it cannot be kept to, or takes too long or too much.

    How long compiling takes and how much memory depends on the grammar, hardly on the vocabulary: the trial's is
    one of single bytes.
    """
    try:
        killable.submit(_tried, constraint, deadline_s=DEADLINE_S).result()
    except killable.KilledError as error:
        raise ValueError(f"the trial of this {constraint.kind} {error}; simplify it") from None


def _tried(constraint: Constraint) -> None:
    compiled(constraint, _bytes_alone())
    if constraint.kind == "JSON schema":
        check_against_its_draft(json.loads(constraint.source))


def compiled(constraint: Constraint, tokenizer: LLTokenizer) -> LLMatcher:
    """Refuses a constraint that llguidance cannot follow or that no output meets."""
    try:
        matcher = LLMatcher(tokenizer, _grammar(constraint), log_level=0, limits=_LIMITS)
    except ValueError as error:
        raise ValueError(_refused(constraint, str(error))) from None
    if matcher.is_error():
        raise ValueError(_refused(constraint, matcher.get_error()))
    trial = matcher.deep_copy()
    trial.compute_bitmask()  # finds out whether anything can be written at all
    if trial.is_error():
        if trial.get_error().startswith("NoExtension"):
            raise ValueError(f"no output can meet this {constraint.kind}; loosen it")
        raise ValueError(_refused(constraint, trial.get_error()))
    return matcher


def _grammar(constraint: Constraint) -> str:
    match constraint.kind:
        case "JSON schema":
            return LLMatcher.grammar_from_json_schema(constraint.source, overrides=_SPACING)
        case "regular expression":
            return LLMatcher.grammar_from_regex(constraint.source)
        case "choices":
            quoted = (json.dumps(choice, ensure_ascii=False) for choice in choices(constraint.source))
            return LLMatcher.grammar_from_lark("start: " + " | ".join(quoted))


def _refused(constraint: Constraint, error: str) -> str:
    reason = first_line(error)
    return f"the {constraint.kind} cannot be kept to ({reason}); change that part or choose an example"


def first_line(error: str) -> str:
    """What is wrong, out of a message that may quote pages of grammar."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    reason = next((line for line in lines if line.startswith("error: ")), lines[0] if lines else "no reason given")
    return reason.removeprefix("error: ").split("(in regex): ")[-1][:200]


class _Bytes:
    """A vocabulary of the 256 bytes and an end token, as llguidance asks for one."""

    eos_token_id, bos_token_id = 256, None
    tokens = (*(bytes([byte]) for byte in range(256)), b"\xff<end>")
    special_token_ids = (256,)

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


@cache
def _bytes_alone() -> LLTokenizer:
    return LLTokenizer(TokenizerWrapper(_Bytes()))
