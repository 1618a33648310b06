"""With and without the KV cache the model says the same, up to rounding; how far up is measured per dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from inference.kv_cache.agreement import PROMPT, Agreements, agreement_job, both_ways
from inference.run.tokens import encode
from tests.inference.passes import counted

if TYPE_CHECKING:
    from inference.engine import Engine

pytestmark = pytest.mark.measures


@pytest.fixture(scope="module")
def agreements(tiny: Engine) -> Agreements:
    job = agreement_job(24)
    result, _ = drained(job.begin(tiny, Limits()))
    return result


def test_in_float32_both_ways_choose_the_tokens_transformers_chooses(tiny: Engine, agreements: Agreements) -> None:
    import torch  # noqa: PLC0415
    from transformers import GenerationConfig  # noqa: PLC0415

    float32, _ = agreements.dtypes
    prompt = encode(tiny.tokenizer, PROMPT, chat_template=False)
    assert agreements.prompt_tokens == len(prompt)
    assert float32.first_differing is None
    for use_cache in (True, False):
        config = GenerationConfig(
            max_new_tokens=24, do_sample=False, use_cache=use_cache, eos_token_id=None, pad_token_id=0
        )
        ids = tiny.model.generate(torch.tensor([prompt]), generation_config=config)[0, len(prompt) :]
        assert tuple(ids.tolist()) == float32.token_ids


def test_float32_differs_by_rounding_and_bfloat16_by_more() -> None:
    import torch  # noqa: PLC0415

    from inference.engine import Engine  # noqa: PLC0415

    engine = Engine.load("random:tiny")
    with torch.no_grad():
        for weights in engine.model.parameters():
            if weights.ndim > 1:
                weights.mul_(6)  # as drawn they are so small that every logit is nearly 0
    result, _ = drained(agreement_job(24).begin(engine, Limits()))
    float32, bfloat16 = result.dtypes
    assert (float32.dtype, bfloat16.dtype) == ("float32", "bfloat16")
    assert float32.largest < 1e-4
    assert bfloat16.largest > float32.largest
    assert bfloat16.largest > 0


def test_both_ways_begin_with_one_prefill_so_the_first_token_agrees_exactly(agreements: Agreements) -> None:
    for found in agreements.dtypes:
        assert found.differences[0] == 0
        assert len(found.differences) == len(found.token_ids) == 24


def test_the_two_ways_take_turns_pass_by_pass(tiny: Engine) -> None:
    num_prompt = len(encode(tiny.tokenizer, PROMPT, chat_template=False))
    with counted(tiny) as passes:
        _, reports = drained(agreement_job(3, ("float32",)).begin(tiny, Limits()))
    assert passes == [num_prompt, num_prompt, 1, num_prompt + 1, 1, num_prompt + 2]
    assert len(reports) == len(passes), "a learner's step waits for one pass at most"


def test_reports_never_go_back_and_what_is_known_stays(tiny: Engine) -> None:
    _, reports = drained(agreement_job(4).begin(tiny, Limits()))
    fractions = [report.fraction for report in reports]
    assert fractions == sorted(fractions)
    known = [sum(len(found.differences) for found in report.partial.dtypes) for report in reports if report.partial]
    assert known == sorted(known)
    assert set(known) == set(range(9))


def test_the_engine_of_all_learners_keeps_its_dtype(tiny: Engine, agreements: Agreements) -> None:
    assert str(tiny.dtype) == "torch.float32"
    assert str(next(tiny.model.parameters()).dtype) == "torch.float32"


@pytest.mark.parametrize("num_tokens", [-3, 0, 1, 257, 10_000])
def test_a_number_of_tokens_that_cannot_be_compared_is_refused_with_the_numbers(
    tiny: Engine, num_tokens: int
) -> None:
    with pytest.raises(ValueError, match=rf"{num_tokens:,} tokens after a prompt of \d+.*from 2 to 256.*of 512"):
        agreement_job(num_tokens).begin(tiny, Limits())


@pytest.mark.real_model
def test_the_default_model_agrees_with_itself_in_float32_and_less_in_bfloat16_where_that_is_quick(
    real: Engine,
) -> None:
    result, _ = drained(agreement_job(16).begin(real, Limits()))
    float32, bfloat16 = result.dtypes
    assert float32.first_differing is None
    assert float32.largest < 1e-2
    for found in result.dtypes:
        assert len(found.differences) == 16 or f"In {found.dtype} " in found.left_out
    if len(bfloat16.differences) > 1:  # the first is one prefill both ways
        assert bfloat16.largest > float32.largest


def test_a_dtype_too_slow_to_be_compared_is_said_with_the_time_it_would_take(tiny: Engine) -> None:
    agreement, _ = drained(both_ways(tiny, "bfloat16", 24, flops_per_s=1.0))
    assert agreement.differences == ()
    assert agreement.left_out.startswith(
        "In bfloat16 no token was compared: on this machine all 24 were expected to"
    )
    assert Agreements(20, (agreement,)).left_out == (agreement.left_out,)


def test_a_comparison_ends_when_its_time_is_spent_and_keeps_what_it_has(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.kv_cache.agreement.TOTAL_S", 1e-9)
    result, _ = drained(agreement_job(24, ("float32",)).begin(tiny, Limits()))
    (found,) = result.dtypes
    assert len(found.differences) == len(found.token_ids) == 1
    assert found.left_out.startswith("In float32 1 of 24 tokens were compared: ")
