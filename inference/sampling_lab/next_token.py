"""One next token's logits, computed once for a context: by a prompt's prefill, or from a learner's own run.

Pages import this module; torch is imported when a pass runs.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from inference.jobs.experiments import Job, Report, Reports
from inference.run.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor

    from inference.engine import Engine
    from inference.generation import Generation
    from inference.jobs.limits import Limits


class Vocabulary(Protocol):
    def __getitem__(self, token_id: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True, eq=False)
class NextToken:
    """What the model says of the token after a context. Pages hand it on and do not look inside."""

    logits: "Tensor"
    """[vocab], float32, on the CPU."""
    token_ids: tuple[int, ...]
    """The context."""
    vocabulary: Vocabulary
    index: int = 0
    """The step this is in its run: 0 is the token that prefill yields."""


def prompt_job(prompt: str, *, chat_template: bool = False) -> Job[NextToken]:
    """One prefill of the prompt; its last position's logits."""
    recipe = Recipe(prompt, max_new_tokens=1, chat_template=chat_template)

    def begin(engine: "Engine", limits: "Limits") -> Reports[NextToken]:
        from inference.generation import Generation  # noqa: PLC0415  # pages must not wait for torch

        limits.check(recipe)
        generation = Generation(engine, prompt, max_new_tokens=1, chat_template=chat_template)
        limits.check_tokens(generation)
        return run(generation)

    def run(generation: "Generation") -> Reports[NextToken]:
        generation.prefill()
        next_token = _held(generation, 0)
        assert next_token is not None
        yield Report(1.0)
        return next_token

    return Job(f"next token {_hash((prompt, chat_template))}", NextToken, begin, is_kept=False)


def step_job(generation: "Generation", token_ids: Sequence[int], index: int) -> Job[NextToken]:
    """The logits that step `index` of a run was drawn from, after `token_ids`.

    The newest step's are still held; an earlier step's are computed again, in one pass over its context.
    """

    def begin(engine: "Engine", _: "Limits") -> Reports[NextToken]:
        next_token = _held(generation, index)
        if next_token is None or next_token.token_ids != tuple(token_ids):
            logits = engine.forward(token_ids, engine.new_cache()).logits
            next_token = NextToken(logits, tuple(token_ids), engine.token_bytes, index)
        yield Report(1.0)
        return next_token

    return Job(f"next token {_hash((tuple(token_ids), index))}", NextToken, begin, is_kept=False)


def _held(generation: "Generation", index: int) -> NextToken | None:
    """For the worker alone: a pass changes the run."""
    if generation.last is None or len(generation.trace.steps) != index + 1:
        return None
    context = tuple(generation.trace.token_ids[:-1])
    return NextToken(generation.last.logits, context, generation.engine.token_bytes, index)


def _hash(what: object) -> str:
    return hashlib.sha256(repr(what).encode(errors="backslashreplace")).hexdigest()[:24]


def find_token(tokenizer: Any, text: str) -> int:
    """The id of one token, from its id or its text; spaces may be typed as the screen writes them, ␣.

    ValueError says what the text is instead.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    plain = text.replace("␣", " ").replace("↵", "\n").replace("⇥", "\t")
    ids = list(tokenizer(plain, add_special_tokens=False).input_ids)
    if len(ids) != 1:
        raise ValueError(f"{text[:40]!r} is {len(ids)} tokens; a bias is for one: give one of the ids {ids[:6]}")
    return int(ids[0])
