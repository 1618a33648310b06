"""Hooks around modules: each seen once per pass, nothing changed, nothing left behind, no step counted."""

from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.experiments import Report
from inference.jobs.limits import Limits
from inference.machine.module_hooks import GROUPS, ModuleCall, clock, find_modules, hooked
from inference.machine.probes import ModuleTimes, measure, modules_job
from tests.inference.passes import counted

pytestmark = pytest.mark.measures

SMALL = {
    **{"vocab_size": 96, "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 3},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0},
}
GPT2 = {"vocab_size": 96, "n_embd": 32, "n_layer": 3, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}


def num_hooks(model: Any) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def finished(engine: Engine, num_tokens: int) -> ModuleTimes:
    found: list[ModuleTimes] = []

    def kept() -> Generator[Report[ModuleTimes], None, None]:
        found.append((yield from measure(engine, num_tokens)))

    for _ in kept():
        pass
    return found[0]


def spans_of(engine: Engine, num_tokens: int) -> list[ModuleCall]:
    with hooked(find_modules(engine.model), clock(engine)[0]) as spans:
        engine.forward([1] * num_tokens, engine.new_cache())
    return spans


@pytest.mark.parametrize("num_tokens", [1, 7])
def test_every_module_is_seen_once_per_pass_and_one_after_the_other(tiny: Engine, num_tokens: int) -> None:
    spans = spans_of(tiny, num_tokens)
    assert set(Counter(id(span.module) for span in spans).values()) == {1}
    assert Counter(span.group for span in spans) == {"attention": 2, "MLP": 2, "norms": 5, "LM head": 1}
    marks = [mark for span in spans for mark in (span.start, span.stop)]
    assert marks == sorted(marks)  # no span holds another, so their sum is at most the pass


@pytest.mark.parametrize(
    ("model_type", "config", "num_norms"),
    [
        ("llama", SMALL, 7),
        ("gemma2", SMALL | {"head_dim": 16}, 13),
        ("mixtral", SMALL | {"num_local_experts": 4, "num_experts_per_tok": 2}, 7),
        ("gpt2", GPT2, 7),
    ],
)
def test_the_modules_of_other_architectures_are_found(
    model_type: str, config: dict[str, Any], num_norms: int
) -> None:
    model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[model_type](**config))
    found = find_modules(model)
    expected = {"attention": 3, "MLP": 3, "norms": num_norms, "LM head": 1}
    assert {group: len(members) for group, members in found.items()} == expected
    assert len({id(member) for members in found.values() for member in members}) == 7 + num_norms


def test_a_model_built_otherwise_is_refused_with_a_sentence() -> None:
    opt = {"num_hidden_layers": 1, "hidden_size": 32, "ffn_dim": 64, "num_attention_heads": 4, "vocab_size": 96}
    model = AutoModelForCausalLM.from_config(CONFIG_MAPPING["opt"](**opt, word_embed_proj_dim=32))
    with pytest.raises(
        ValueError, match=r"OPTForCausalLM has no list of layers named layers or h; .*choose another"
    ):
        find_modules(model)
    falcon = {"num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 4, "vocab_size": 96}
    with pytest.raises(ValueError, match="layer 0 of FalconForCausalLM has self_attention, mlp, input_layernorm"):
        find_modules(AutoModelForCausalLM.from_config(CONFIG_MAPPING["falcon"](**falcon)))


def test_the_logits_are_the_same_with_hooks_and_the_hooks_go(tiny: Engine) -> None:
    before = num_hooks(tiny.model)
    plain = tiny.forward([1, 2, 3], tiny.new_cache()).logits
    with hooked(find_modules(tiny.model), clock(tiny)[0]):
        assert num_hooks(tiny.model) == before + 2 * 10
        watched = tiny.forward([1, 2, 3], tiny.new_cache()).logits
    assert torch.equal(plain, watched)
    assert num_hooks(tiny.model) == before


def test_the_hooks_go_after_an_exception_and_when_the_measurement_is_cancelled(tiny: Engine) -> None:
    before = num_hooks(tiny.model)
    with (
        pytest.raises(ValueError, match="is not among the"),
        hooked(find_modules(tiny.model), clock(tiny)[0]),
    ):
        tiny.forward([tiny.spec.vocab_size], tiny.new_cache())
    assert num_hooks(tiny.model) == before
    work = measure(tiny, 8)
    for _ in range(40):
        next(work)
        assert num_hooks(tiny.model) == before  # other learners' passes run between two reports
    work.close()
    assert num_hooks(tiny.model) == before


def test_a_probed_pass_is_no_step_of_anybodys_run(tiny: Engine) -> None:
    generation = Generation(tiny, "Hello", max_new_tokens=4)
    generation.prefill()
    work = measure(tiny, 8)
    for _ in range(6):
        next(work)
    generation.decode()
    assert [step.context_len for step in generation.trace.steps] == [5, 6]
    fresh = Generation(tiny, "Hello", max_new_tokens=4)
    fresh.prefill()
    fresh.decode()
    assert fresh.trace.token_ids == generation.trace.token_ids


def test_both_phases_are_timed_with_the_same_number_of_hooked_and_plain_passes(tiny: Engine) -> None:
    prefill, decode = finished(tiny, 24).passes
    assert (prefill.phase, prefill.num_query_tokens, prefill.context_len) == ("prefill", 24, 24)
    assert (decode.phase, decode.num_query_tokens, decode.context_len) == ("decode", 1, 24)
    for one in (prefill, decode):
        assert [group.group for group in one.groups] == list(GROUPS)
        assert len(one.hooked_s) == len(one.plain_s) > 5
        for place, pass_s in enumerate(one.hooked_s):
            assert 0 < sum(group.times_s[place] for group in one.groups) <= pass_s
        assert one.rest_s >= 0


def test_progress_rises_to_the_end_and_says_what_is_done(tiny: Engine) -> None:
    reports = list(measure(tiny, 8))
    fractions = [report.fraction for report in reports]
    assert fractions == sorted(fractions)
    assert (fractions[0] > 0, fractions[-1]) == (True, 1.0)
    assert reports[0].doing == "prefill, warm-up, without hooks"
    partial = reports[-1].partial
    assert partial is not None
    assert [one.phase for one in partial.passes] == ["prefill"]


@pytest.mark.parametrize("num_tokens", [1, 513])
def test_a_length_the_model_cannot_hold_is_refused_before_any_work(tiny: Engine, num_tokens: int) -> None:
    with pytest.raises(ValueError, match=f"holds 512 tokens.*got {num_tokens}"):
        modules_job(num_tokens).begin(tiny, Limits())


def test_two_caches_that_do_not_fit_are_refused_with_the_number(tiny: Engine) -> None:
    # 512 tokens x 2 layers x key and value x 2 heads x 8 wide x 4 bytes, twice
    with pytest.raises(ValueError, match="Two KV caches of 512 tokens would take 0 MB"):
        modules_job(512).begin(tiny, Limits(kv_bytes_total=2 * 131_072 - 1))
    modules_job(512).begin(tiny, Limits(kv_bytes_total=2 * 131_072))


def test_a_prefill_that_would_hold_everybody_up_is_refused_with_a_length_that_would_not(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.machine.probes.PASS_S", 1e-6)
    with counted(tiny) as passes, pytest.raises(ValueError, match=r"prefills of 300 tokens.*choose 1 or fewer"):
        finished(tiny, 300)
    assert max(passes) == 16, "not even the second of the short passes is begun"


def test_repeats_that_were_not_made_for_lack_of_time_are_said(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.machine.probes.TOTAL_S", 0.0)
    found = finished(tiny, 12)
    assert [len(one.plain_s) for one in found.passes] == [1, 1]
    assert found.left_out == (
        "Only 1 of 7 repeats of the prefill: their time was up after 0 s.",
        "Only 1 of 15 repeats of the decode: their time was up after 0 s.",
    )
