"""Sampled speculation leaves the distribution as it is, whatever the draft; a draw that does not is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import TypeAdapter

from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from inference.speculation.draw_records import SampledDraws
from inference.speculation.records import SpeculationRequest
from inference.speculation.sampled import draws_job
from tests.inference.passes import counted

if TYPE_CHECKING:
    from torch import Tensor

    from inference.engine import Engine
    from inference.speculation.draft_sources import Proposal

PROMPT = "the cat sat on the mat, the cat sat on "
NUM_DRAWS = 4_000
LEAST_P = 1e-3  # of one seeded test; a wrong sampler misses it by many orders of magnitude


def _rows(drafted: list[int]) -> tuple[Tensor, Tensor]:
    """Real distributions behind the prompt and each drafted token, of model and of draft: [tokens, vocab]."""
    from tests.inference.speculation.speculative_models import lively, near_draft  # noqa: PLC0415

    rows = []
    for engine in (lively(), near_draft()):
        ids, cache = engine.tokenizer(PROMPT).input_ids, engine.new_cache()
        logits, _ = engine.forward_last([*ids, *drafted], cache, len(drafted) + 1)
        rows.append(logits.softmax(-1))
    return rows[0], rows[1]


def _p_value(ids: list[int], expected: Tensor) -> float:
    import torch  # noqa: PLC0415

    from inference.sampling_lab.draws import chi_square  # noqa: PLC0415
    from inference.speculation.draws import count_bins  # noqa: PLC0415

    counts = torch.bincount(torch.tensor(ids), minlength=len(expected)).float()
    bins = count_bins(counts, expected * len(ids))
    assert sum(one.count for one in bins) == len(ids)
    assert sum(one.expected for one in bins) == pytest.approx(len(ids), rel=1e-4)
    found = chi_square([one.count for one in bins], [one.expected for one in bins])
    assert found is not None
    return found.p


def _one_hot(token_ids: tuple[int, ...], vocab_size: int) -> Proposal:
    import torch  # noqa: PLC0415

    from inference.speculation.draft_sources import Proposal  # noqa: PLC0415

    return Proposal(token_ids, torch.nn.functional.one_hot(torch.tensor(token_ids), vocab_size).float())


def test_both_tokens_of_a_round_with_a_fixed_draft_are_distributed_as_the_model_says() -> None:
    """Prompt look-up: q is one token. The first token, and the second where the first draft was accepted."""
    import torch  # noqa: PLC0415

    from inference.speculation.run import verify  # noqa: PLC0415

    first, second = 127, 39  # what the model itself likes here: accepted often enough to be counted
    p, _ = _rows([first, second])
    proposal, rng = _one_hot((first, second), p.shape[1]), torch.Generator().manual_seed(0)
    ones, twos = [], []
    for _ in range(NUM_DRAWS):
        num_accepted, added = verify(p.__getitem__, proposal, rng)
        ones.append(first if num_accepted else added)
        if num_accepted:
            twos.append(second if num_accepted == 2 else added)
    assert len(twos) == pytest.approx(NUM_DRAWS * float(p[0, first]), rel=0.25)
    assert _p_value(ones, p[0]) > LEAST_P
    assert _p_value(twos, p[1]) > LEAST_P


@pytest.mark.slow
@pytest.mark.parametrize("is_near", [True, False])
def test_tokens_drafted_by_another_model_come_out_as_the_model_says(is_near: bool) -> None:
    import torch  # noqa: PLC0415

    from inference.speculation.draft_sources import Proposal  # noqa: PLC0415
    from inference.speculation.run import draw, verify  # noqa: PLC0415

    p, near = _rows([])
    q = near[0] if is_near else near[0].flip(0)  # the second is a poor draft: most of it is rejected
    rng, ids, num_accepted = torch.Generator().manual_seed(0), [], 0
    for _ in range(NUM_DRAWS):
        drafted = draw(q, rng)
        accepted, added = verify(lambda place: p[0], Proposal((drafted,), q[None]), rng)
        num_accepted += accepted
        ids.append(drafted if accepted else added)
    overlap = float(torch.minimum(p[0], q).sum())
    assert num_accepted / NUM_DRAWS == pytest.approx(overlap, abs=0.03), "accepted as often as p and q overlap"
    assert _p_value(ids, p[0]) > LEAST_P
    assert _p_value(ids, q) < 1e-6, "counted against the draft's chances the test must fail"


def test_greedy_is_the_same_rule_with_all_chance_on_one_token() -> None:
    import torch  # noqa: PLC0415

    from inference.speculation.run import verify  # noqa: PLC0415

    best = torch.eye(8)[[3, 5, 6]]
    rng = torch.Generator().manual_seed(0)
    assert verify(best.__getitem__, _one_hot((3, 5), 8), rng) == (2, 6)
    assert verify(best.__getitem__, _one_hot((3, 4), 8), rng) == (1, 5)
    assert verify(best.__getitem__, _one_hot((2, 5), 8), rng) == (0, 3)


LIKELY = "itH and it"  # look-up drafts H at its end, and at this temperature the model itself likes it there
TEMPERATURE = 0.4


def _request(seed: int = 0) -> SpeculationRequest:
    return SpeculationRequest(LIKELY, False, 3, TEMPERATURE, seed, num_drafted=1)


@pytest.mark.slow
def test_whole_runs_over_many_seeds_draw_the_second_token_as_the_model_would() -> None:
    """Passes and cache included. A first token is fed as part of the prompt, and drafts follow at once."""
    from inference.run.params import SamplingParams  # noqa: PLC0415
    from inference.speculation.draft_sources import LookUp, probabilities  # noqa: PLC0415
    from inference.speculation.run import Speculation  # noqa: PLC0415
    from tests.inference.speculation.speculative_models import lively  # noqa: PLC0415

    engine, draft = lively(), LookUp(lively().spec.vocab_size)
    text = engine.tokenizer(LIKELY).input_ids
    logits = engine.forward(text, engine.new_cache()).logits
    chances = probabilities(logits, SamplingParams(TEMPERATURE), text)
    seconds = []
    for seed in range(200):
        params = SamplingParams(TEMPERATURE, seed=seed)
        speculation = Speculation(engine, text[:-1], draft, params, max_new_tokens=3, num_drafted=1)
        engine.forward(text[:-1], speculation.cache)
        speculation.token_ids.append(text[-1])
        for _ in speculation.round():
            pass
        assert speculation.rounds[0].drafted == (text[2],)
        seconds.append(speculation.token_ids[1])
    assert len(set(seconds)) > 5, "some were rejected"
    assert _p_value(seconds, chances) > LEAST_P


@pytest.mark.parametrize("is_mistaken", [False, True])
def test_the_labs_draws_pass_as_published_and_fail_with_the_common_mistake(is_mistaken: bool) -> None:
    from inference.speculation.draws import draw_first  # noqa: PLC0415
    from tests.inference.speculation.speculative_models import lively  # noqa: PLC0415

    run, _ = drained(draw_first(lively(), _request(seed=1), 2_000, is_mistaken=is_mistaken))
    assert run.drafted_id == lively().tokenizer(LIKELY).input_ids[2]
    assert sum(one.count for one in run.bins) == run.num_draws == 2_000
    assert run.num_accepted / 2_000 == pytest.approx(run.expected_acceptance, abs=0.04)
    assert sum(one.expected for one in run.bins) == pytest.approx(2_000, rel=1e-3)
    assert run.test is not None
    assert (run.test.p > LEAST_P) is not is_mistaken
    adapter: TypeAdapter[SampledDraws] = TypeAdapter(SampledDraws)
    assert adapter.validate_json(adapter.dump_json(run)) == run


def test_the_default_draws_find_a_draft_at_the_end_of_the_prompt(tiny: Engine) -> None:
    with counted(tiny) as passes:
        run, reports = drained(draws_job(num_draws=100).begin(tiny, Limits()))
    assert passes == [160]
    assert run.drafted_id is not None
    assert run.request.prompt.endswith(run.context)
    assert len(reports) >= 3


def test_a_text_that_ends_without_a_draft_says_so(tiny: Engine) -> None:
    from inference.speculation.draws import draw_first  # noqa: PLC0415

    with pytest.raises(RuntimeError, match="ends before anything could be drafted"):
        drained(draw_first(tiny, SpeculationRequest("abcdef", False, 1, 1.0), 10, is_mistaken=False))


@pytest.mark.parametrize("num_draws", [0, 20_001])
def test_more_draws_than_allowed_are_refused(tiny: Engine, num_draws: int) -> None:
    with pytest.raises(ValueError, match="Draws must be from 1 to 20,000"):
        draws_job(num_draws=num_draws).begin(tiny, Limits())
