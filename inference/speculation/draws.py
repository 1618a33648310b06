"""One token of a speculative round drawn many times and counted against the chances that the model gives."""

import torch
from torch import Tensor

from inference.engine import Engine
from inference.jobs.bounded import reported
from inference.jobs.experiments import Report, Reports
from inference.run import tokens
from inference.sampling import step_rng
from inference.sampling_lab.draws import chi_square
from inference.speculation.compare import begin
from inference.speculation.draft import LOOK_UP
from inference.speculation.draft_sources import Proposal, open_draft, probabilities
from inference.speculation.draw_records import Bin, SampledDraws
from inference.speculation.records import SpeculationRequest
from inference.speculation.run import draw, verify

_AT_ONCE = 50  # draws between two reports: together shorter than a pass
_FEWEST_EXPECTED = 5.0  # per bin, Cochran's rule
_MOST_ALONE = 11
_SHOWN_CHARS = 60


def draw_first(
    engine: Engine, request: SpeculationRequest, num_draws: int, *, is_mistaken: bool
) -> Reports[SampledDraws]:
    """Decide `num_draws` times on the first token for which there is a draft.

    The passes of draft and model are run once: their logits do not depend on the draw. `is_mistaken` replaces a
    rejected draft from p itself, which counts the draft's chance twice.
    """
    if request.draft != LOOK_UP:
        yield Report(0.0, doing="loading the draft model")
    plain, draft, rng = begin(engine, request), open_draft(request.draft, engine), step_rng(request.seed, 0)
    text, cache = [token.id for token in plain.trace.prompt_tokens], engine.new_cache()
    num_prompt, num_cached = len(text), 0
    while True:
        logits = engine.forward(text[num_cached:], cache).logits
        num_cached = len(text)
        yield Report(0.0, doing="looking for a draft")
        proposal = yield from reported(draft.propose(text, 1, plain.params, rng), "drafting")
        p = probabilities(logits, plain.params, text)
        if proposal.token_ids:
            break
        text.append(draw(p, rng))
        if text[-1] in engine.end_tokens or len(text) - num_prompt >= request.max_new_tokens:
            raise RuntimeError("this text ends before anything could be drafted; choose another")
    q, counts, num_accepted = proposal.probabilities[0], torch.zeros_like(p), 0
    for number in range(num_draws):
        drafted = draw(q, rng)
        accepted, token_id = verify(lambda place: p, Proposal((drafted,), q[None]), rng)
        num_accepted += accepted
        counts[drafted if accepted else draw(p, rng) if is_mistaken else token_id] += 1
        if number % _AT_ONCE == 0:
            yield Report(number / num_draws, doing=f"{number:,} of {num_draws:,} draws")
    bins = count_bins(counts, p * num_draws)
    return SampledDraws(
        request=request,
        context=tokens.decode(engine.tokenizer, text)[-_SHOWN_CHARS:],
        drafted_id=int(q.argmax()) if float(q.max()) == 1 else None,
        num_draws=num_draws,
        num_accepted=num_accepted,
        expected_acceptance=float(torch.minimum(p, q).sum()),
        is_mistaken=is_mistaken,
        bins=bins,
        test=chi_square([drawn.count for drawn in bins], [drawn.expected for drawn in bins]),
    )


def count_bins(counts: Tensor, expected: Tensor) -> tuple[Bin, ...]:
    """The likeliest tokens alone and the others together, each expected often enough for the test."""
    order = expected.argsort(descending=True, stable=True)
    num_alone = min(int((expected >= _FEWEST_EXPECTED).sum()), _MOST_ALONE)
    while num_alone > 1 and 0 < float(expected[order[num_alone:]].sum()) < _FEWEST_EXPECTED:
        num_alone -= 1
    alone, others = order[:num_alone], order[num_alone:]
    columns = zip(alone.tolist(), counts[alone].tolist(), expected[alone].tolist(), strict=True)
    bins = [Bin(token_id, 1, int(count), mean) for token_id, count, mean in columns]
    left = others[expected[others] > 0]
    if len(left) or float(counts[others].sum()):
        bins.append(Bin(None, len(left), int(counts[others].sum()), float(expected[others].sum())))
    return tuple(bins)
