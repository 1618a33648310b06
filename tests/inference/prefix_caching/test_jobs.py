"""The four experiments on prefix caching: what they feed, what they refuse, and what a cancel leaves."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from inference.arithmetic.estimate import estimate
from inference.arithmetic.roofline import Ceilings
from inference.catalogue import models
from inference.jobs.drive import drained
from inference.jobs.experiments import Job
from inference.jobs.kept import Kept
from inference.jobs.limits import Limits
from inference.prefix_caching import chat as prefix_chat
from inference.prefix_caching import pair as prefix_pair
from inference.prefix_caching import shared as prefix_shared
from inference.prefix_caching import tenants as prefix_tenants
from inference.prefix_caching.chat import Style, chat_job
from inference.prefix_caching.pair import PairPrompts, pair_job
from inference.prefix_caching.prompts import document, question, with_change
from inference.prefix_caching.records import CachedPrefill, estimated_ttft_s
from inference.prefix_caching.shared import Arrivals, SharedRun, shared_job
from inference.prefix_caching.tenants import SECRETS, TRUE_SECRET, Leak, spread, tenants_job
from tests.inference.passes import counted, failing_once
from tests.inference.prefix_caching.test_cache import num_references

if TYPE_CHECKING:
    from pathlib import Path

    from inference.engine import Engine

PAIR = PairPrompts(shared_tokens=100)
SMALL: dict[str, Job[Any]] = {
    "pair": pair_job(PAIR, repeats=1, new_tokens=3),
    "chat": chat_job(num_turns=2, reply_tokens=3, repeats=1),
    "shared": shared_job(Arrivals(num_learners=3, system_tokens=64), budget_mb=0.03),
    "tenants": tenants_job(Leak(record_tokens=64), block_size=32, repeats=1),
}


def test_the_second_prompt_is_served_cold_and_warm_in_turn(tiny: Engine) -> None:
    shared, own = PAIR.shared_tokens, len(question(tiny.tokenizer, 1))
    with counted(tiny) as passes:
        found, _ = drained(pair_job(PAIR, repeats=2, new_tokens=3).begin(tiny, Limits()))
    same = found.shared_tokens
    assert same >= shared
    warm = shared + own - same // 16 * 16
    assert passes == [len(found.first_ids), *[shared + own, warm] * 3, 1, 1, 1, 1]
    assert [one.hit_blocks for one in found.cold + found.warm] == [0, 0, same // 16, same // 16]
    assert found.kept_bytes == len(found.first_ids) // 16 * 16 * 256  # tiny: 256 bytes a token
    assert found.both is not None
    assert found.both.are_equal
    assert found.both.margin is None
    assert found.both.logit_difference < 1e-5
    assert (len(found.both.cold_s), len(found.both.warm_tokens)) == (2, 3)


def test_the_losing_preset_hits_nothing_and_decodes_the_same(tiny: Engine) -> None:
    found, _ = drained(pair_job(PairPrompts(100, changed=3), repeats=1, new_tokens=3).begin(tiny, Limits()))
    assert found.shared_tokens == 2
    assert [one.hit_blocks for one in found.warm] == [0]
    assert found.warm[0].computed_tokens == found.cold[0].computed_tokens
    assert found.both is not None
    assert found.both.are_equal


def test_a_change_later_keeps_the_blocks_before_it(tiny: Engine) -> None:
    found, _ = drained(pair_job(PairPrompts(100, changed=50), repeats=1, new_tokens=1).begin(tiny, Limits()))
    assert found.warm[0].hit_blocks == 49 // 16


def test_texts_of_the_learners_own_are_served_and_not_kept(tiny: Engine) -> None:
    job = pair_job(PairPrompts(own=("a" * 40, "a" * 35 + "b")), repeats=1, new_tokens=1)
    found, _ = drained(job.begin(tiny, Limits()))
    assert found.warm[0].hit_blocks == 2
    assert not job.is_kept
    assert "aaaa" not in job.name
    assert job.name != pair_job(PairPrompts(own=("a" * 40, "a" * 36)), repeats=1, new_tokens=1).name


def test_a_turn_reuses_the_turns_before_it(tiny: Engine) -> None:
    found, reports = drained(chat_job(num_turns=2, reply_tokens=3, repeats=1).begin(tiny, Limits()))
    first, second = found.turns
    assert first.warm[0].hit_blocks == 0
    assert second.cold[0].hit_blocks == 0
    before = first.warm[0].prompt_tokens
    assert second.warm[0].cached_tokens >= before // 16 * 16
    assert all(turn.both.are_equal for turn in found.turns)
    assert reports[-1].partial is not None
    assert len(reports[-1].partial.turns) == 1, "the second turn is known when it has ended"


def test_a_clock_before_everything_else_destroys_the_reuse(tiny: Engine) -> None:
    found, _ = drained(
        chat_job(Style(is_clock_first=True), num_turns=2, reply_tokens=2, repeats=1).begin(tiny, Limits())
    )
    alike = found.turns[1].warm[0].cached_tokens
    assert alike <= 32, "only the template's own beginning, before the clock"
    assert alike < found.turns[0].warm[0].prompt_tokens / 2


def shared_hits(tiny: Engine, *, num_prompts: int, num_blocks: int) -> SharedRun:
    """Six requests whose system prompts take 8 blocks of 16 each."""
    asked = Arrivals(num_prompts, num_learners=6, system_tokens=128)
    found, _ = drained(shared_job(asked, budget_mb=num_blocks * 16 * 256 / 1e6).begin(tiny, Limits()))
    return found


def test_a_system_prompt_in_use_again_and_again_is_computed_once(tiny: Engine) -> None:
    found = shared_hits(tiny, num_prompts=1, num_blocks=40)
    assert [one.served.hit_blocks >= 8 for one in found.arrivals] == [False] + [True] * 5
    assert found.capacity == 40
    assert all(one.num_kept <= 40 for one in found.arrivals)
    assert found.kept_bytes == found.arrivals[-1].num_kept * 16 * 256


def test_prompts_in_turn_with_room_for_too_few_evict_each_other(tiny: Engine) -> None:
    roomy = shared_hits(tiny, num_prompts=3, num_blocks=200)
    narrow = shared_hits(tiny, num_prompts=3, num_blocks=20)
    assert [one.served.hit_blocks >= 8 for one in roomy.arrivals] == [False] * 3 + [True] * 3
    assert [one.served.hit_blocks for one in narrow.arrivals] == [0] * 6
    assert sum(one.num_evicted for one in roomy.arrivals) == 0
    assert sum(one.num_evicted for one in narrow.arrivals) > 20


def test_the_right_guess_is_the_only_one_that_hits_and_a_salt_hides_it(tiny: Engine) -> None:
    found, _ = drained(tenants_job(Leak(record_tokens=96), block_size=32, repeats=2).begin(tiny, Limits()))
    together = [{one.hit_blocks for one in guess.together} for guess in found.guesses]
    assert [hits != {0} for hits in together] == [place == TRUE_SECRET for place in range(len(SECRETS))]
    assert all(one.hit_blocks == 0 for guess in found.guesses for one in guess.salted)
    assert [len(guess.together) for guess in found.guesses] == [2] * len(SECRETS)
    full = found.guesses[TRUE_SECRET].together[0].prompt_tokens // 32
    assert (found.added_blocks, found.added_blocks_salted) == (0, full), "the price: nothing is shared"


def test_a_secret_in_the_last_partial_block_makes_no_guess_faster(tiny: Engine) -> None:
    found, _ = drained(
        tenants_job(Leak(is_at_end=True, record_tokens=96), block_size=32, repeats=1).begin(tiny, Limits())
    )
    assert len({one.hit_blocks for guess in found.guesses for one in guess.together}) == 1


def test_the_spread_is_of_the_first_answer_over_the_next() -> None:
    def served(seconds: float) -> CachedPrefill:
        return CachedPrefill(10, 4, 0, 0.0, 0.0, seconds, 1)

    guesses = tuple(
        prefix_tenants.Guess(str(place), (served(slow),), (served(1.0 + place),))
        for place, slow in enumerate((6.0, 2.0, 5.0))
    )
    assert spread(guesses, is_salted=False) == (1, 2.5)
    assert spread(guesses, is_salted=True) == (0, 2.0)


def test_a_ttft_is_look_up_assembly_and_forward() -> None:
    one = CachedPrefill(100, 16, 3, lookup_s=0.1, assemble_s=0.2, forward_s=0.4, token_id=7)
    assert one.ttft_s == pytest.approx(0.7)
    assert (one.cached_tokens, one.computed_tokens, one.missed_blocks) == (48, 52, 3)


def test_an_estimate_of_a_warm_prefill_adds_the_copy_of_its_blocks() -> None:
    spec = models()["smollm2-135m"]
    ceilings = Ceilings("CPU", "float32", 1e9, 1e12, overhead_s=0.01, measured_on="", threads=1)
    pass_s = estimate(spec, ceilings, num_query_tokens=50, context_len=850).total_s
    copied = 2 * 800 * 30 * 2 * 3 * 64 * 2  # twice, tokens, layers, key and value, KV heads, head_dim, bytes
    warm_s = estimated_ttft_s(spec, ceilings, prompt_tokens=850, cached_tokens=800)
    assert warm_s == pytest.approx(pass_s + copied / 1e9)


def test_a_document_has_exactly_as_many_tokens_as_asked_and_its_own_beginning(tiny: Engine) -> None:
    for num_tokens in (1, 50, 2_000):
        assert len(document(tiny.tokenizer, num_tokens)) == num_tokens
    assert document(tiny.tokenizer, 9, "Museum")[0] != document(tiny.tokenizer, 9, "Archive")[0]


def test_a_changed_token_is_another_one_of_the_text() -> None:
    assert with_change([5, 5, 6], 1) == [6, 5, 6]
    assert with_change([5, 6], 0) == [5, 6]
    assert with_change([5, 5], 2) == [5, 6]
    with pytest.raises(ValueError, match="token 4 cannot be changed: the text has tokens 1 to 3"):
        with_change([1, 2, 3], 4)


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (pair_job(PairPrompts(shared_tokens=500)), r"reaches \d+ tokens, the model's context holds 512"),
        (pair_job(PairPrompts(own=("a", ""))), "A prompt is empty"),
        (pair_job(PAIR, block_size=0), "1 to 256 tokens, got 0"),
        (tenants_job(block_size=0), "1 to 256 tokens, got 0"),
        (pair_job(PairPrompts(100, changed=101)), "token 101 cannot be changed"),
        (chat_job(num_turns=8), r"The conversation reaches [\d,]+ tokens, the model's context holds 512"),
        (chat_job(num_turns=1), "2 to 8 turns, got 1"),
        (shared_job(budget_mb=0.004), r"0.004 MB is smaller than one block: 16 tokens take 0.0041 MB"),
        (shared_job(Arrivals(num_learners=201)), "1 to 200 learners can ask here, got 201"),
        (shared_job(Arrivals(num_prompts=5)), "1 to 4 system prompts here, got 5"),
        (shared_job(budget_mb=2_000), "The budget and one request would take 2,000 MB"),
        (tenants_job(Leak(record_tokens=600)), "the model's context holds 512"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_work(tiny: Engine, job: Job[Any], words: str) -> None:
    with counted(tiny) as passes, pytest.raises(ValueError, match=words):
        job.begin(tiny, Limits())
    assert passes == []


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every store that is made, so that a test can look into it after its experiment has gone."""
    from inference.prefix_caching import store as prefix_store  # noqa: PLC0415

    made: list[Any] = []
    original = prefix_store.PrefixStore.__init__

    def remember(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(prefix_store.PrefixStore, "__init__", remember)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_cancel_after_any_pass_and_the_end_leave_no_block_in_use(
    tiny: Engine, stores: list[Any], name: str
) -> None:
    job = SMALL[name]
    _, reports = drained(job.begin(tiny, Limits()))
    fractions = [one.fraction for one in reports]
    assert fractions == sorted(fractions)
    assert fractions[-1] <= 1
    for num_passes in range(1, len(reports) + 1):
        work = job.begin(tiny, Limits())
        for _ in itertools.islice(work, num_passes):
            pass
        work.close()
    assert len(stores) > len(reports)
    assert {num_references(one.cache) for one in stores} == {0}


@pytest.mark.parametrize("name", SMALL)
def test_a_pass_that_fails_ends_the_experiment_and_leaves_no_block_in_use(
    tiny: Engine, stores: list[Any], name: str
) -> None:
    work = SMALL[name].begin(tiny, Limits())
    next(work)
    next(work)
    with (
        failing_once(tiny.model.model.layers[1], RuntimeError("broken")),
        pytest.raises(RuntimeError, match="broken"),
    ):
        drained(work)
    assert {num_references(one.cache) for one in stores} == {0}


@pytest.mark.parametrize("name", SMALL)
def test_a_result_is_kept_on_disk_and_read_as_it_was(
    tiny: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    job = SMALL[name]
    result, _ = drained(job.begin(tiny, Limits()))
    kept = Kept.of(tiny)
    kept.write(job.name, job.kind, result)
    found = kept.read(job.name, job.kind)
    assert found is not None
    assert found[0] == result


def test_every_experiment_has_a_preset_that_wins_and_one_that_loses() -> None:
    for lab in (prefix_pair, prefix_chat, prefix_shared, prefix_tenants):
        assert list(lab.PRESETS) == [lab.WINS, lab.LOSES]


@pytest.mark.real_model
def test_a_warm_800_token_prefix_feeds_a_thirtieth_of_the_tokens_and_says_the_same(real: Engine) -> None:
    with counted(real) as passes:
        found, _ = drained(pair_job(repeats=1, new_tokens=6).begin(real, Limits()))
    assert found.warm[0].hit_blocks == 50
    assert passes[1] > 30 * passes[2]
    assert found.both is not None
    assert found.both.are_equal or abs(found.both.margin or 0) <= found.both.logit_difference
    assert found.both.logit_difference < 1e-3
    assert found.speedup > 1
