"""Speculation on real passes: the same text as plain decoding, every token once, the cache cropped, refusals."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter

from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from inference.run.params import SamplingParams
from inference.speculation.draft import LOOK_UP
from inference.speculation.jobs import own_job, speculation_job
from inference.speculation.records import Speculated, SpeculationRequest
from tests.inference.passes import counted, failing_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inference.engine import Engine
    from inference.speculation.draft_sources import Draft
    from inference.speculation.run import Speculation

PROMPT = "the cat sat on the mat, the cat sat on "


@pytest.fixture(scope="module")
def lively() -> Engine:
    from tests.inference.speculation.speculative_models import lively  # noqa: PLC0415

    return lively()


def _speculation(
    engine: Engine, draft: Draft, *, num_drafted: int = 4, maximum: int = 40, params: SamplingParams | None = None
) -> Speculation:
    from inference.speculation.run import Speculation  # noqa: PLC0415

    ids = engine.tokenizer(PROMPT).input_ids
    return Speculation(
        engine, ids, draft, params or SamplingParams(), max_new_tokens=maximum, num_drafted=num_drafted
    )


def _finished(speculation: Speculation) -> Speculation:
    speculation.prefill()
    while speculation.ending is None:
        for _ in speculation.round():
            pass
    return speculation


def _drafts(vocab_size: int) -> list[Draft]:
    from inference.speculation.draft_sources import LookUp, SmallModel  # noqa: PLC0415
    from tests.inference.speculation.speculative_models import near_draft  # noqa: PLC0415

    return [LookUp(vocab_size), SmallModel(near_draft(), vocab_size)]


def _generated(engine: Engine, num_tokens: int) -> list[int]:
    """By transformers itself, greedily."""
    import torch  # noqa: PLC0415
    from transformers import GenerationConfig  # noqa: PLC0415

    ids = engine.tokenizer(PROMPT).input_ids
    config = GenerationConfig(max_new_tokens=num_tokens, do_sample=False, pad_token_id=0)
    found: list[int] = engine.model.generate(torch.tensor([ids]), generation_config=config)[0, len(ids) :].tolist()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("num_drafted", [1, 2, 5, 24])
def test_greedy_speculation_writes_what_transformers_generates(lively: Engine, num_drafted: int) -> None:
    expected = _generated(lively, 40)
    kinds = set()
    for draft in _drafts(lively.spec.vocab_size):
        speculation = _finished(_speculation(lively, draft, num_drafted=num_drafted))
        assert speculation.token_ids == expected
        assert speculation.ending == "maximum"
        kinds |= {one.last for one in speculation.rounds}
    assert {"bonus", "correction"} <= kinds, "a run in which nothing is rejected, or all, would prove little"


def test_a_draft_with_the_same_weights_is_always_right(tiny: Engine) -> None:
    from inference.speculation.draft_sources import SmallModel  # noqa: PLC0415

    speculation = _finished(_speculation(tiny, SmallModel(tiny, tiny.spec.vocab_size), maximum=26))
    assert [(len(one.drafted), one.num_accepted) for one in speculation.rounds] == [(4, 4)] * 5


def test_every_token_is_in_one_round_and_every_pass_feeds_one_more_than_was_drafted(lively: Engine) -> None:
    for draft in _drafts(lively.spec.vocab_size):
        speculation = _speculation(lively, draft)
        num_prompt = len(speculation.prompt_ids)
        with counted(lively) as passes:
            speculation.prefill()
            first = list(speculation.token_ids)
            while speculation.ending is None:
                for _ in speculation.round():
                    pass
                assert speculation.num_cached == num_prompt + len(speculation.token_ids) - 1
        assert passes == [num_prompt, *(one.num_fed for one in speculation.rounds)]
        assert [*first, *(token for one in speculation.rounds for token in one.token_ids)] == speculation.token_ids
        assert len(speculation.token_ids) == 40


@pytest.mark.parametrize("maximum", [1, 2, 3, 7])
def test_no_more_is_drafted_than_is_left_to_generate(tiny: Engine, maximum: int) -> None:
    from inference.speculation.draft_sources import SmallModel  # noqa: PLC0415

    draft = SmallModel(tiny, tiny.spec.vocab_size)
    speculation = _finished(_speculation(tiny, draft, num_drafted=24, maximum=maximum))
    assert speculation.token_ids == _generated(tiny, maximum)
    assert [len(one.drafted) for one in speculation.rounds] == ([maximum - 2] if maximum > 1 else [])


def test_a_full_context_ends_speculation_where_it_ends_plain_decoding(lively: Engine) -> None:
    from inference.generation import Generation  # noqa: PLC0415
    from inference.speculation.run import Speculation  # noqa: PLC0415

    prompt = "ab" * 250  # of 512
    plain = Generation(lively, prompt, max_new_tokens=64)
    plain.prefill()
    while not plain.finished:
        plain.decode()
    ids = [token.id for token in plain.trace.prompt_tokens]
    for draft in _drafts(lively.spec.vocab_size):
        speculation = Speculation(lively, ids, draft, SamplingParams(), max_new_tokens=64, num_drafted=7)
        _finished(speculation)
        assert speculation.ending == plain.stop_reason == "context full"
        assert speculation.token_ids == [step.token_id for step in plain.trace.steps]
        assert speculation.num_cached == 512


def test_an_accepted_end_token_is_the_last_that_counts(lively: Engine) -> None:
    from inference.engine import Engine  # noqa: PLC0415
    from inference.speculation.draft_sources import SmallModel  # noqa: PLC0415

    mine = Engine.load("random:tiny")
    mine.model.load_state_dict(lively.model.state_dict())
    expected = _generated(mine, 4)
    assert len(set(expected)) == 4
    mine.end_tokens = frozenset({expected[2]})
    speculation = _finished(_speculation(mine, SmallModel(mine, mine.spec.vocab_size), num_drafted=8))
    assert speculation.ending == "end token"
    assert speculation.token_ids == expected[:3]
    (one,) = speculation.rounds
    assert (len(one.drafted), one.num_accepted, one.token_id, one.num_tested) == (8, 2, None, 2)


def test_both_ways_take_turns_and_every_pass_is_reported(tiny: Engine) -> None:
    request = SpeculationRequest(PROMPT, chat_template=False, max_new_tokens=20, num_drafted=4)
    with counted(tiny) as passes:
        run, reports = drained(own_job("mine", lambda: request, num_repeats=2).begin(tiny, Limits()))
    assert len(reports) == len(passes), "a learner's step never waits for longer than a pass"
    assert run.token_ids == run.plain_ids
    assert tuple(_generated(tiny, 20)) == run.plain_ids
    assert run.parting is None
    assert 0 < run.logit_difference < 1e-4
    half = passes[: len(passes) // 2]
    assert half == passes[len(passes) // 2 :], "the repeats run the same passes"
    in_turn = [run.num_prompt] * 2
    for one in run.rounds:
        in_turn += [one.num_fed, *[1] * len(one.token_ids)]
    assert half == in_turn
    assert [report.fraction for report in reports] == sorted(report.fraction for report in reports)
    assert len(run.repeats) == 2
    assert all(len(repeat.plain_s) == len(repeat.tokens) == 19 for repeat in run.repeats)


def test_what_is_known_grows_round_by_round(tiny: Engine) -> None:
    request = SpeculationRequest(PROMPT, chat_template=False, max_new_tokens=12)
    run, reports = drained(own_job("mine", lambda: request, num_repeats=2).begin(tiny, Limits()))
    known = [report.partial for report in reports if report.partial]
    lengths = [len(one.rounds) for one in known]
    assert lengths == sorted(lengths)
    assert lengths[0] == 1
    assert known[0].ending is None
    assert (run.ending, len(run.repeats)) == ("maximum", 2)


def test_a_result_can_be_kept_and_read_again(tiny: Engine) -> None:
    request = SpeculationRequest(PROMPT, chat_template=False, max_new_tokens=6, temperature=1.0)
    run, _ = drained(own_job("mine", lambda: request, num_repeats=1).begin(tiny, Limits()))
    adapter: TypeAdapter[Speculated] = TypeAdapter(Speculated)
    assert adapter.validate_json(adapter.dump_json(run)) == run


def test_texts_that_part_are_found_with_the_margin_of_the_plain_step() -> None:
    """A model that verifies differently from how it decodes: the comparison must say so."""
    from inference.engine import Engine, Forward  # noqa: PLC0415

    class Wrong(Engine):
        def forward_last(self, token_ids: Sequence[int], cache: Any, num_positions: int) -> tuple[Any, Forward]:
            logits, forward = super().forward_last(token_ids, cache, num_positions)
            return -logits, forward

    request = SpeculationRequest(PROMPT, chat_template=False, max_new_tokens=8)
    run, _ = drained(own_job("mine", lambda: request, num_repeats=1).begin(Wrong.load("random:tiny"), Limits()))
    assert run.parting is not None
    assert run.parting.place == 1, "the first token is prefill's, not verified"
    assert run.token_ids[0] == run.plain_ids[0]
    assert run.token_ids[1] != run.plain_ids[1]
    assert run.logit_difference > 0.1
    assert len(run.token_ids) == len(run.plain_ids) == 8


def test_what_is_asked_for_when_it_begins_is_checked_and_run(tiny: Engine) -> None:
    typed = ["  "]
    job = own_job(
        "mine", lambda: SpeculationRequest(typed[0], chat_template=False, max_new_tokens=4), num_repeats=1
    )
    with pytest.raises(ValueError, match="empty"):
        job.begin(tiny, Limits())
    typed[0] = PROMPT
    work = job.begin(tiny, Limits())
    typed[0] = "later"
    assert drained(work)[0].request.prompt == PROMPT


def test_closing_at_any_pass_leaves_the_model_as_it_was(tiny: Engine) -> None:
    request = SpeculationRequest(PROMPT, chat_template=False, max_new_tokens=8)
    job = own_job("mine", lambda: request, num_repeats=1)
    expected, reports = drained(job.begin(tiny, Limits()))
    for stop in range(1, len(reports), 3):
        work = job.begin(tiny, Limits())
        for _ in range(stop):
            next(work)
        work.close()
    again, _ = drained(job.begin(tiny, Limits()))
    assert again.token_ids == expected.token_ids


def test_a_pass_that_fails_ends_the_run_with_its_error_and_the_next_run_works(tiny: Engine) -> None:
    request = SpeculationRequest(PROMPT, chat_template=False, max_new_tokens=8)
    job = own_job("mine", lambda: request, num_repeats=1)
    work = job.begin(tiny, Limits())
    for _ in range(3):
        next(work)
    with failing_once(tiny.model.model.layers[1], RuntimeError("no memory was left")):  # noqa: SIM117
        with pytest.raises(RuntimeError, match="memory"):
            drained(work)
    run, _ = drained(job.begin(tiny, Limits()))
    assert run.token_ids == run.plain_ids


def test_a_draft_with_another_tokenizer_is_refused_by_name(tiny: Engine) -> None:
    from inference.engine import Engine  # noqa: PLC0415
    from inference.speculation.draft_sources import check_tokenizer  # noqa: PLC0415

    check_tokenizer(tiny, tiny)
    strange = Engine.load("random:tiny")
    strange.name = "strange-draft"
    strange.tokenizer.add_tokens(["whole-word"])
    words = r"strange-draft has another tokenizer than random:tiny: 1 of its 259 tokens .* set TWOPHASES_DRAFT"
    with pytest.raises(ValueError, match=words):
        check_tokenizer(strange, tiny)


def test_the_draft_named_by_the_server_drafts(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWOPHASES_DRAFT", "random:tiny")
    request = SpeculationRequest(PROMPT, chat_template=False, max_new_tokens=12, num_drafted=3, draft="random:tiny")
    job = own_job("mine", lambda: request, num_repeats=1)
    run, _ = drained(job.begin(tiny, Limits()))
    assert run.acceptance == 1, "it is the same model"
    assert run.token_ids == run.plain_ids
    (repeat,) = run.repeats
    drafting = [round_ for round_ in repeat.rounds if round_.drafted]
    assert min(round_.draft_s for round_ in drafting) > 0, "its own passes are timed"
    each_s = sum(round_.draft_s for round_ in drafting) / sum(len(round_.drafted) for round_ in drafting)
    fed_one_s = [round_.forward_s + round_.verify_s for round_ in repeat.rounds if round_.num_fed == 1]
    assert run.draft_cost == pytest.approx(each_s / median([*repeat.plain_s, *fed_one_s]))


def test_a_draft_that_cannot_be_loaded_ends_the_run_with_its_name(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWOPHASES_DRAFT", "random:none-such")
    request = SpeculationRequest(PROMPT, chat_template=False, draft="random:none-such")
    job = own_job("mine", lambda: request)
    with pytest.raises(ValueError, match="the draft random:none-such cannot be loaded: no catalogue shape"):
        drained(job.begin(tiny, Limits()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_drafted": 0}, "from 1 to 24, got 0"),
        ({"num_drafted": 25}, "from 1 to 24, got 25"),
        ({"draft": "no-such-model"}, "No draft is called 'no-such-model' here"),
        ({"prompt": "  "}, "The prompt is empty"),
        ({"prompt": "x" * 600}, "600 tokens, the model's context holds 512"),
        ({"max_new_tokens": 5_000}, "from 1 to 1,024, got 5,000"),
    ],
)
def test_what_cannot_be_run_is_refused_before_any_pass(tiny: Engine, change: dict[str, Any], words: str) -> None:
    request = replace(SpeculationRequest(PROMPT, chat_template=False), **change)
    with counted(tiny) as passes, pytest.raises(ValueError, match=words):
        own_job("mine", lambda: request).begin(tiny, Limits())
    assert passes == []


def test_two_caches_that_do_not_fit_are_refused(tiny: Engine) -> None:
    request = SpeculationRequest(PROMPT, chat_template=False, max_new_tokens=64)
    one_cache = (len(PROMPT) + 64) * 256  # tiny: 256 bytes a token
    with pytest.raises(ValueError, match="The two KV caches, with speculation and without"):
        own_job("mine", lambda: request).begin(tiny, Limits(kv_bytes_per_learner=one_cache + 256))


@pytest.mark.real_model
def test_the_default_model_copies_the_same_text_with_speculation_and_in_far_fewer_passes(real: Engine) -> None:
    run, _ = drained(speculation_job("copy", num_repeats=1).begin(real, Limits()))
    assert run.request.draft == LOOK_UP
    assert run.text in run.request.prompt
    assert run.ending == "end token"
    assert run.parting is None or run.is_tie, f"they part at {run.parting}: not by rounding"
    assert run.parting or run.token_ids == run.plain_ids
    assert run.logit_difference < 1e-3
    assert run.tokens_per_pass > 4


@pytest.mark.real_model
@pytest.mark.parametrize("preset", ["edit", "story"])
def test_the_default_model_writes_the_same_as_without_speculation(real: Engine, preset: str) -> None:
    run, _ = drained(speculation_job(preset, num_repeats=1).begin(real, Limits()))
    assert run.parting is None or run.is_tie, f"they part at {run.parting}: not by rounding"
    assert run.parting or run.token_ids == run.plain_ids
