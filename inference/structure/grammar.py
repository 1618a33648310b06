"""A constraint as a mask over the model's vocabulary, token after token."""

import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import llguidance.hf
import numpy as np
import torch
from llguidance import LLTokenizer
from torch import Tensor

from inference.structure.compiling import compiled, first_line
from inference.structure.records import Constraint

if TYPE_CHECKING:
    from inference.engine import Engine

_tokenizers: "WeakKeyDictionary[Engine, LLTokenizer]" = WeakKeyDictionary()


class Matcher:
    """Follows one output: which tokens may come next, and whether what is there is enough."""

    def __init__(self, engine: "Engine", constraint: Constraint) -> None:
        """Refuses a constraint that llguidance cannot follow or that no output meets."""
        self._kind, self._num_tokens = constraint.kind, 0
        self._vocab_size = engine.spec.vocab_size
        tokenizer = _tokenizer(engine)
        start_s = time.perf_counter()
        self._matcher = compiled(constraint, tokenizer)
        self.compile_s = time.perf_counter() - start_s

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
            reason = first_line(self._matcher.get_error())
            raise ValueError(
                f"the {self._kind} grew too complex after {self._num_tokens} tokens ({reason}); simplify it"
            )


def _tokenizer(engine: "Engine") -> LLTokenizer:
    """Built once for each engine: a second for a vocabulary of 49,152."""
    if engine not in _tokenizers:
        ends = sorted(engine.end_tokens)
        _tokenizers[engine] = llguidance.hf.from_tokenizer(
            engine.tokenizer, n_vocab=max(engine.spec.vocab_size, len(engine.tokenizer)), eos_token=ends
        )
    return _tokenizers[engine]
