"""A constraint as a mask over the vocabulary, by llguidance, whose limits on its own work let none hang."""

import json
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import llguidance.hf
import numpy as np
import torch
from llguidance import LLMatcher, LLParserLimits, LLTokenizer
from torch import Tensor

from inference.structured import Constraint, choices

if TYPE_CHECKING:
    from inference.engine import Engine

# Spaces as Python's json.dumps writes them. Were they free, a small model could write spaces for ever.
_SPACING: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_LIMITS = LLParserLimits(verbose_errors=False)
_tokenizers: "WeakKeyDictionary[Engine, LLTokenizer]" = WeakKeyDictionary()


class Matcher:
    """Follows one output: which tokens may come next, and whether what is there is enough."""

    def __init__(self, engine: "Engine", constraint: Constraint) -> None:
        """Refuses a constraint that llguidance cannot follow or that no output meets."""
        self._kind, self._num_tokens = constraint.kind, 0
        self._vocab_size = engine.spec.vocab_size
        try:
            self._matcher = LLMatcher(_tokenizer(engine), _grammar(constraint), log_level=0, limits=_LIMITS)
        except ValueError as error:
            raise ValueError(self._refused(str(error))) from None
        if self._matcher.is_error():
            raise ValueError(self._refused(self._matcher.get_error()))
        trial = self._matcher.deep_copy()
        trial.compute_bitmask()  # finds out whether anything can be written at all
        if trial.is_error():
            if trial.get_error().startswith("NoExtension"):
                raise ValueError(f"no output can meet this {self._kind}; loosen it")
            raise ValueError(self._refused(trial.get_error()))

    def allowed(self) -> Tensor:
        """Whether each token may come next, over the model's vocabulary: bool, [vocab]."""
        words = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        self._check_going_on()
        return torch.from_numpy(np.unpackbits(words, count=self._vocab_size, bitorder="little").astype(bool))

    def consume(self, token_id: int) -> None:
        self._matcher.consume_token(token_id)
        self._num_tokens += 1
        self._check_going_on()

    @property
    def is_accepting(self) -> bool:
        return self._matcher.is_accepting()

    @property
    def is_stopped(self) -> bool:
        """Nothing but the end token may follow."""
        return self._matcher.is_stopped()

    def _check_going_on(self) -> None:
        if self._matcher.is_error():
            reason = _first_line(self._matcher.get_error())
            raise ValueError(
                f"the {self._kind} grew too complex after {self._num_tokens} tokens ({reason}); simplify it"
            )

    def _refused(self, error: str) -> str:
        return f"the {self._kind} cannot be kept to ({_first_line(error)}); change that part or choose an example"


def _tokenizer(engine: "Engine") -> LLTokenizer:
    """Built once for each engine: a second for a vocabulary of 49,152."""
    if engine not in _tokenizers:
        ends = sorted(engine.end_tokens)
        _tokenizers[engine] = llguidance.hf.from_tokenizer(
            engine.tokenizer, n_vocab=engine.spec.vocab_size, eos_token=ends
        )
    return _tokenizers[engine]


def _grammar(constraint: Constraint) -> str:
    match constraint.kind:
        case "JSON schema":
            return LLMatcher.grammar_from_json_schema(constraint.source, overrides=_SPACING)
        case "regular expression":
            return LLMatcher.grammar_from_regex(constraint.source)
        case "choices":
            quoted = (json.dumps(choice, ensure_ascii=False) for choice in choices(constraint.source))
            return LLMatcher.grammar_from_lark("start: " + " | ".join(quoted))


def _first_line(error: str) -> str:
    """What is wrong, out of a message that may quote pages of grammar."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    told = next((line for line in lines if line.startswith("error: ")), lines[0] if lines else "no reason given")
    return told.removeprefix("error: ").split("(in regex): ")[-1][:200]
