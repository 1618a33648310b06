"""Generates under a constraint, one forward pass after the other, and writes down what the mask did."""

import time
from collections.abc import Generator
from concurrent.futures import wait
from dataclasses import replace

import torch
from torch import Tensor

from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.experiments import Report, Reports
from inference.run.recipe import Recipe
from inference.run.tokens import TokenBytes
from inference.sampling import draw, stages, step_rng
from inference.structure.check import judge
from inference.structure.grammar import Matcher
from inference.structure.records import (
    Constraint,
    Ending,
    StructuredRequest,
    StructuredRun,
    StructuredStep,
    TokenOption,
)
from inference.trace import Step

NUM_OPTIONS = 8
_LOOK_S = 0.02


def generation_of(engine: Engine, recipe: Recipe) -> Generation:
    return Generation(
        engine, recipe.prompt, recipe.params, recipe.max_new_tokens, chat_template=engine.is_chat_model
    )


def generate(engine: Engine, request: StructuredRequest, matcher: Matcher | None) -> Reports[StructuredRun]:
    """Run to the end, under the matcher of the request's constraint if it is to be masked.

    Every pass is the plain generation's own. Its token is then exchanged for the one that the same settings choose
    under the mask: the mask comes first, then the processor chain.
    """
    constraint, recipe = request.constraint, request.recipe
    generation = generation_of(engine, recipe)
    steps: list[StructuredStep] = []
    while True:
        step = generation.decode() if steps else generation.prefill()
        steps.append(_masked(generation, step, matcher))
        ending = _ending(generation, matcher)
        text = generation.trace.text
        run = StructuredRun(
            text=text,
            steps=tuple(steps),
            is_complete=ending is not None and _is_complete(ending, matcher),
            is_valid=None,
            ending=ending,
            compile_s=matcher.compile_s if matcher else 0.0,
            request=request,
        )
        if ending:
            return replace(run, is_valid=(yield from _judged(constraint, text)))
        yield Report(len(steps) / recipe.max_new_tokens, run, f"token {len(steps)}")


def _judged(constraint: Constraint, text: str) -> Generator[Report[StructuredRun], None, bool | None]:
    """The verdict on the whole text, given elsewhere; steps that wait are not held up by it."""
    verdict = judge(constraint, text)
    while not verdict.done():
        yield Report(1.0, doing="judging the text")
        wait([verdict], _LOOK_S)
    return None if verdict.exception() else verdict.result()


def _masked(generation: Generation, step: Step, matcher: Matcher | None) -> StructuredStep:
    """Choose again under the mask, put that token in the newest step's place, and record both."""
    assert generation.last is not None
    logits = generation.last.logits
    start = time.perf_counter()
    allowed = matcher.allowed() if matcher else torch.ones_like(logits, dtype=torch.bool)
    masked = logits.masked_fill(~allowed, float("-inf"))
    mask_s = time.perf_counter() - start
    token_id = step.token_id
    if matcher:
        chain = stages(masked, generation.params, generation.trace.token_ids[:-1])
        token_id = draw(chain[-1], generation.params, step_rng(generation.params.seed, step.index))
        start = time.perf_counter()
        matcher.consume(token_id)
        mask_s += time.perf_counter() - start
    if token_id != step.token_id:
        generation.fork(token_id)
    chosen = generation.trace.steps[-1]
    return StructuredStep(
        index=step.index,
        phase=step.phase,
        token_id=token_id,
        raw=chosen.raw,
        unmasked_id=step.token_id,
        feasible_mass=_mass(logits, allowed),
        num_allowed=int(allowed.sum()),
        raw_top=_options(logits, logits, masked, generation.engine.token_bytes),
        masked_top=_options(masked, logits, masked, generation.engine.token_bytes, token_id),
        mask_s=mask_s if matcher else 0.0,
        forward_s=step.forward_s,
    )


def _mass(logits: Tensor, allowed: Tensor) -> float:
    """Probability of the allowed tokens. In float64, and by logarithms: it may be 1e-30."""
    exact = logits.double()
    return min(float((exact[allowed].logsumexp(-1) - exact.logsumexp(-1)).exp()), 1.0)


def _options(
    ranked: Tensor, logits: Tensor, masked: Tensor, token_bytes: TokenBytes, chosen: int | None = None
) -> tuple[TokenOption, ...]:
    """The best by `ranked`, forbidden ones left out of a masked rank, and the chosen one whatever its place."""
    best = ranked.topk(min(NUM_OPTIONS, ranked.numel()))
    ids = best.indices[torch.isfinite(best.values)].tolist()
    if chosen is not None and chosen not in ids:
        ids = [*ids[: NUM_OPTIONS - 1], chosen]
    at = torch.tensor(ids)
    raw = (logits[at] - logits.logsumexp(-1)).exp().clamp(max=1.0).tolist()
    under = (masked[at] - masked.logsumexp(-1)).exp().clamp(max=1.0).tolist()
    kept = torch.isfinite(masked[at]).tolist()
    return tuple(
        TokenOption(token_id, token_bytes[token_id], probability, masked_probability, is_allowed)
        for token_id, probability, masked_probability, is_allowed in zip(ids, raw, under, kept, strict=True)
    )


def _ending(generation: Generation, matcher: Matcher | None) -> Ending | None:
    match generation.stop_reason:
        case "end token":
            return "end token"
        case _ if matcher and matcher.is_stopped:
            return "constraint met"
        case "context full":
            return "context full"
        case None:
            return None
        case _:
            return "maximum"


def _is_complete(ending: Ending, matcher: Matcher | None) -> bool:
    """Whether the text is a whole one: ended by its own, or by chance just where it may end."""
    return ending in ("end token", "constraint met") or (matcher is not None and matcher.is_accepting)
