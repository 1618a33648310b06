"""What one learner, and all together, may ask of this machine."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inference.arithmetic.ranges import Range
from inference.cost import kv_bytes
from inference.run.recipe import Recipe, check_prompt

if TYPE_CHECKING:
    from inference.generation import Generation

_LARGEST = 10**15  # a petabyte, where bytes are meant


def _setting(name: str, default: int, *, low: int = 1) -> int:
    text = os.environ.get(f"TWOPHASES_{name}", str(default)).strip()
    is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST))
    if not is_whole or not low <= int(text) <= _LARGEST:
        raise ValueError(
            f"TWOPHASES_{name} must be a whole number from {low} to {_LARGEST:,}, got {text[:40]!r}; correct it in "
            f"the environment and start the server again, or leave it out for {default:,}"
        )
    return int(text)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one learner, and all together, may ask of this machine. Each is set by TWOPHASES_ and its name."""

    max_prompt_chars: int = field(default_factory=lambda: _setting("MAX_PROMPT_CHARS", 100_000))
    max_prompt_tokens: int = field(default_factory=lambda: _setting("MAX_PROMPT_TOKENS", 4_096))
    max_new_tokens: int = field(default_factory=lambda: _setting("MAX_NEW_TOKENS", 1_024))
    kv_bytes_per_learner: int = field(default_factory=lambda: _setting("KV_BYTES_PER_LEARNER", 1_000_000_000))
    kv_bytes_total: int = field(default_factory=lambda: _setting("KV_BYTES_TOTAL", 4_000_000_000))
    idle_s: int = field(default_factory=lambda: _setting("IDLE_SECONDS", 900, low=0))
    """A run without a step for this long gives its KV cache up to the next one that needs a pass."""
    max_learners: int = field(default_factory=lambda: _setting("MAX_LEARNERS", 200))
    """Runs kept; the one unused for longest is dropped for a new one."""

    def check(self, recipe: Recipe) -> None:
        """Refuse what is too large before any work."""
        check_prompt(recipe.prompt)
        if len(recipe.prompt) > self.max_prompt_chars:
            raise ValueError(
                f"The prompt has {len(recipe.prompt):,} characters; this server takes at most "
                f"{self.max_prompt_chars:,}. Shorten it."
            )
        Range(1, self.max_new_tokens).whole("Maximum new tokens", recipe.max_new_tokens)

    def check_kv(self, num_bytes: float, what: str) -> None:
        """Refuse caches of an experiment that would be too large, before any work."""
        if num_bytes > self._most_kv_bytes:
            raise ValueError(
                f"{what} would take {num_bytes / 1e6:,.0f} MB; {self._kv_rule}. "
                "Choose a smaller batch or shorter lengths."
            )

    def check_tokens(self, generation: "Generation") -> None:
        """Refuse a prompt whose tokens or whose full cache would be too large, before the first pass."""
        num_prompt = len(generation.trace.prompt_tokens)
        if num_prompt > self.max_prompt_tokens:
            raise ValueError(
                f"The prompt has {num_prompt:,} tokens; this server takes at most {self.max_prompt_tokens:,}. "
                "Shorten it."
            )
        spec = generation.engine.spec
        last = min(num_prompt + generation.trace.metadata.max_new_tokens - 1, spec.max_context)
        full = kv_bytes(spec, context_len=last)
        if full > self._most_kv_bytes:
            raise ValueError(
                f"This run's KV cache could grow to {full / 1e6:,.0f} MB; {self._kv_rule}. "
                "Shorten the prompt or lower the maximum."
            )

    @property
    def _most_kv_bytes(self) -> int:
        return min(self.kv_bytes_per_learner, self.kv_bytes_total)

    @property
    def _kv_rule(self) -> str:
        """The one of the two limits that is in force, in words."""
        who = "a learner" if self.kv_bytes_per_learner <= self.kv_bytes_total else "all learners together"
        return f"{who} may hold {self._most_kv_bytes / 1e6:,.0f} MB"
