"""A sentence with a number follows it: fed reversed, equal and missing data, words and numbers still agree."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.arithmetic.roofline import Ceilings, explained
from inference.batching.cost import batch_cost, crossover_batch
from inference.batching.prefill import Batched
from inference.batching.records import BatchingComparison, BatchPass
from inference.catalogue import models
from inference.disaggregation.records import ArrangementComparison
from inference.kv_cache.agreement import Agreement
from inference.latency.waterfall import ttft_stages
from inference.machine.sweeps import Setting, SweepPoint
from inference.planner.options.option import Change, Optimisation
from inference.planner.published.layer_clock import rows as clock_rows
from inference.planner.ranking import curve
from inference.planner.settings import PlanSettings, make
from inference.prefix_caching.chat import Chat, Turn
from inference.prefix_caching.pair import PairRun
from inference.prefix_caching.records import CachedPrefill
from inference.prefix_caching.shared import LearnerPrefill, SharedRun
from inference.prefix_caching.tenants import SECRETS, Guess, Tenants
from inference.sampling_lab.records import ChiSquare
from inference.speculation.draw_records import SampledDraws
from inference.speculation.records import Repeat, Round, Speculated, SpeculationRequest
from pages.charts.latency.queueing import AtLoad
from pages.charts.run.explained import explanation
from pages.charts.run.run import step_work
from pages.ui.experiments.batching import batch_sweep, prefill_batching
from pages.ui.experiments.batching import stall as batching_stall
from pages.ui.experiments.batching import text as batching_text
from pages.ui.experiments.compared import way
from pages.ui.experiments.disaggregation import fleet, two_processes
from pages.ui.experiments.kv_cache import agreement, recompute
from pages.ui.experiments.latency import goodput, load, waterfall
from pages.ui.experiments.planning import layer_clock
from pages.ui.experiments.prefix_caching import chat as prefix_chat
from pages.ui.experiments.prefix_caching import pair_text as prefix_pair_text
from pages.ui.experiments.prefix_caching import shared as prefix_shared
from pages.ui.experiments.prefix_caching import tenants as prefix_tenants
from pages.ui.experiments.roofline import cores, modules
from pages.ui.experiments.speculation import draws as speculation_draws
from pages.ui.experiments.speculation import sizes as speculation_sizes
from pages.ui.experiments.speculation import text as speculation_text
from pages.ui.planner.views import options as options_view
from pages.ui.planner.views import throughput as throughput_view
from tests.pages import measurements as some
from tests.pages.measurements import SPEC, Extremes
from tests.pages.test_extreme_charts import NOT_A_NUMBER

NUMBER = r"(-?[\d,]+(?:\.\d+)?)(?: (µs|ms|s|%)(?![\w/]))?"
UNITS = {None: 1.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "%": 0.01}
ABOVE, BELOW = (lambda one, other: one >= other), (lambda one, other: one <= other)
ONE = "(1)"
# What a reader takes from a sentence: the two numbers and how they must stand; equal after rounding is no lie.
CLAIMS: Mapping[str, Callable[[float, float], bool]] = {
    rf"protects decode: .*?up to {NUMBER} for its next token, with chunks up to {NUMBER}": ABOVE,
    rf"did not protect decode here: .*?up to {NUMBER} for its next token, with chunks up to {NUMBER}": BELOW,
    rf"pays: its TTFT is {NUMBER} instead of {NUMBER}": ABOVE,
    rf"did not pay here: its TTFT is {NUMBER} with chunks and {NUMBER}": BELOW,
    rf"own pace: a token takes {NUMBER} instead of {NUMBER}": ABOVE,
    rf"gives {NUMBER} times the tokens per second of batch \d+, and .* only {NUMBER} times": ABOVE,
    rf"helps prefill: {NUMBER} became {NUMBER}": ABOVE,
    rf"does not help here: {NUMBER} to the first token cold, {NUMBER} warm": BELOW,
    rf"It helps prefill.*TTFT is {NUMBER} with reuse and {NUMBER} without": BELOW,
    rf"It helps prefill: a median TTFT of {NUMBER} where something hit .*? and {NUMBER} where nothing": BELOW,
    rf"does not shorten prefill here: a median TTFT of {NUMBER} where something .*? and {NUMBER} where": (
        lambda hit, missed: hit >= 0.94 * missed
    ),
    rf"The price: the longest TTFT went from {NUMBER} to {NUMBER}": BELOW,
    rf"Output in all: {NUMBER} and {NUMBER} tokens/s, more": BELOW,
    rf"Output in all: {NUMBER} and {NUMBER} tokens/s, less": ABOVE,
    rf"Apart wins: .*? give {NUMBER} requests/s within the limits, all colocated {NUMBER}": ABOVE,
    rf"Colocated wins: all together give {NUMBER} requests/s .*?gives {NUMBER}\.": ABOVE,
    rf"differs by up to {NUMBER}, \w+ by up to {NUMBER}": ABOVE,
    rf"so {NUMBER} passes did what {NUMBER} did": BELOW,
    rf"they took {NUMBER} passes instead of {NUMBER}": ABOVE,
}
FACTORS: Mapping[str, Callable[[float, float], bool]] = {
    rf"It helps decode: {NUMBER} times": ABOVE,
    rf"It loses here: {NUMBER} times": BELOW,
    rf"{NUMBER} times as fast in one pass": ABOVE,
    rf"take {NUMBER} times as long in one pass": ABOVE,
    rf"The price is waiting for each other: .*is {NUMBER} times that": ABOVE,
    rf"Nobody pays for it: .*is {NUMBER} times that": BELOW,
    rf"speculation won: {NUMBER} times": ABOVE,
    rf"speculation lost: {NUMBER} times": BELOW,
    rf"The best of these is k = \d+: {NUMBER} times": ABOVE,
    rf"gains anything; the best is k = \d+: {NUMBER} times": (lambda gain, _: gain <= 1.06),
    rf"takes {NUMBER} times as long as a pass over one\. On a machine": ABOVE,
    rf"throughput grows {NUMBER} times": ABOVE,
    rf"does not grow: {NUMBER} times": (lambda more, _: more <= 1.02),
    rf"pace falls to {NUMBER}": BELOW,
}


def _value(number: str, unit: str | None) -> float:
    return float(number.replace(",", "")) * UNITS[unit]


def contradictions(text: str) -> list[str]:
    """The claims of a text that its own numbers do not bear out."""
    found = []
    for pattern, holds in CLAIMS.items():
        for said in re.finditer(pattern, text):
            if not holds(_value(said[1], said[2]), _value(said[3], said[4])):
                found.append(said[0])
    for pattern, holds in FACTORS.items():
        for said in re.finditer(pattern, text):
            if not holds(_value(said[1], said[2]), 1.0):
                found.append(said[0])
    return found


def stall(whole_s: float, chunked_s: float, newcomer_s: float) -> str:
    """A prompt fed whole in the second pass, and in two chunks; `newcomer_s` is the last chunk's pass."""
    of = Extremes(lambda _: 1e-3)
    plan = some.served(of).plan
    whole, chunked = (some.served(Extremes(_most)) for _ in range(2))
    first, second, third, fourth = whole.passes
    shares = (*second.shares[:2], replace(third.shares[1], num_tokens=9))
    at_once = (
        first,
        BatchPass(1, whole_s, 1, shares),
        BatchPass(2, 1e-3, 1, (third.shares[0],)),
        fourth,
    )
    in_chunks = (
        first,
        replace(chunked.passes[1], seconds=chunked_s),
        replace(chunked.passes[2], seconds=newcomer_s),
        fourth,
    )
    arms = (replace(whole, passes=at_once, plan=plan), replace(chunked, passes=in_chunks, plan=plan))
    return batching_stall.stall(BatchingComparison(arms))


def _most(strategy: object) -> float:
    """The largest whole number a strategy has, and a millisecond for every time."""
    high = getattr(strategy, "end", None) or getattr(getattr(strategy, "wrapped_strategy", None), "end", None)
    return 1e-3 if high is None else high


def point(median_s: float, *, tokens: int = 1, batch: int = 1) -> SweepPoint:
    phase = "prefill" if tokens > 1 else "decode"
    setting = Setting(phase, phase, num_query_tokens=tokens, context_len=max(tokens, 128), batch_size=batch)  # type: ignore[arg-type]
    return SweepPoint(setting, (median_s,), ())


def by_batch(*medians_s: float) -> str:
    points = [point(median_s, batch=2**place) for place, median_s in enumerate(medians_s)]
    return batch_sweep.words(some.sweep(points), points, [], None, None)


def together(*gains: float) -> str:
    return prefill_batching.words(
        [
            Batched(point(1.0, tokens=length), point(4 / gain, tokens=length, batch=4))
            for length, gain in zip((4, 256), gains, strict=False)
        ]
    )


def served(forward_s: float, hits: int) -> CachedPrefill:
    return CachedPrefill(64, 16, hits, 0.0, 0.0, forward_s, 1)


def pair(cold_s: float, warm_s: float, hits: int = 3) -> str:
    ids = tuple(range(64))
    first = served(cold_s, 0)
    run = PairRun(SPEC, 16, ids, ids, first, 0.1, 1000, (first,), (served(warm_s, hits),))
    return prefix_pair_text.words(run)


def chat(cold_s: float, warm_s: float, hits: int = 3) -> str:
    both = some.both_ways(Extremes(lambda _: 1))
    turn = Turn("q", "r", (served(cold_s, 0),), (served(warm_s, hits),), both)
    return prefix_chat.words(Chat(SPEC, 16, (turn, turn), 1000))


def shared(hit_s: float, missed_s: float) -> str:
    arrivals = (LearnerPrefill(0, served(missed_s, 0), 0, 3), LearnerPrefill(0, served(hit_s, 3), 0, 3))
    return prefix_shared.words(SharedRun(SPEC, 16, 1e6, 9, arrivals, 1000))


def tenants(*times_s: float, hits: tuple[int, ...] = (3, 0, 0, 0), salted_s: float = 1.0) -> str:
    guesses = tuple(
        Guess(secret, (served(time_s, hit),), (served(salted_s, 0),))
        for secret, time_s, hit in zip(SECRETS, times_s, hits, strict=False)
    )
    return prefix_tenants.words(Tenants(SPEC, 16, guesses))


def speculated(pass_s: float, *, num_drafted: int = 4, num_accepted: int = 2) -> Speculated:
    one = Round(tuple(range(num_drafted)), num_accepted, 7, 0.0, pass_s, 0.0)
    asked = SpeculationRequest("x", num_drafted=max(num_drafted, 1))
    return Speculated(asked, "float32", 9, 1, (Repeat((one, one), (1.0, 1.0)),), "x", (1,), 0.0, None, "maximum")


def draws(*, is_mistaken: bool, p: float | None) -> str:
    test = None if p is None else ChiSquare(9.0, 3, p)
    return speculation_draws.words(
        SampledDraws(SpeculationRequest("x"), "text", None, 100, 60, 0.6, is_mistaken, (), test)
    )


def differ(first: float, second: float) -> str:
    return agreement.words([Agreement("float32", (1,), (first,)), Agreement("bfloat16", (1,), (second,))])


def at_scale(apart: float, together_rate: float) -> str:
    return fleet.words(((1, apart), (2, 0.0)), together_rate, fleet.FleetSettings())


def more_cores(prompt: float, step: float, batch: float) -> list[list[SweepPoint]]:
    """Two cores that make each pass so many times as fast, the prompt's last."""
    passes = (("decode", 1, 512, 1, step), ("decode", 1, 128, 32, batch), ("prefill", 512, 512, 1, prompt))
    return [
        [
            SweepPoint(Setting(phase, phase, fed, context_len, size, count), (took_s,) * 3, ())  # type: ignore[arg-type]
            for count, took_s in ((1, gain), (2, 1.0))
        ]
        for phase, fed, context_len, size, gain in passes
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (stall(9.0, 5.0, 5.0), "It protects decode: .* The newcomer pays: "),
        (stall(9.0, 1.0, 1.0), "It protects decode: .* The newcomer did not pay here: "),
        (stall(1.0, 9.0, 1.0), "It did not protect decode here: .* The newcomer pays: "),
        (stall(9.0, 8.9, 0.1), "It protected nobody here: .* pays nothing that can be measured: "),
        (by_batch(1.0, 1.1), r"It helps decode: batch 2 gives 1.82 times .* takes 1.10 s instead of 1.00 s"),
        (by_batch(1.0, 1.0, 8.0), "It helps decode: batch 2 .* there it ends: batch 4 gives only 0.500 times"),
        (by_batch(1.0, 2.0), r"gains nothing here: batch 2 gives 1.00 times .* takes 2.00 s instead of 1.00 s"),
        (by_batch(1.0, 0.9), "Each sequence keeps its pace"),
        (by_batch(1.0), "measure what that buys"),
        (together(1.54, 0.691), r"1.54 times as fast in one pass .* take 1.45 times as long in one pass"),
        (together(1.0, 1.0), r"are done as fast in one pass as one after another"),
        (together(0.5), r"^4 prompts of 4 tokens take 2.00 times as long in one pass as one after another\.$"),
        (pair(2.0, 1.0), "It helps prefill: 2.00 s became 1.00 s"),
        (pair(1.0, 1.0), "It changes nothing that can be measured"),
        (pair(1.0, 2.0), "It does not help here: 1.00 s to the first token cold, 2.00 s warm"),
        (pair(1.0, 2.0, 0), "none hits and all is computed again"),
        (chat(2.0, 1.0), "It helps prefill: .* 1.00 s with reuse and 2.00 s without"),
        (chat(1.0, 2.0), "It does not shorten prefill here: .* 2.00 s with reuse and 1.00 s without"),
        (chat(1.0, 2.0, 0), "None of 128 prompt tokens came from the cache"),
        (shared(1.0, 2.0), r"It helps prefill: a median TTFT of 1.00 s .*\(1 request\) and 2.00 s"),
        (shared(2.0, 1.0), "It does not shorten prefill here"),
        (
            tenants(2.0, 2.0, 1.0, 2.0, hits=(0, 0, 3, 0)),
            "timing reveals .* tenant B hits nothing that tenant A left, .* only 1.00 times",
        ),
        (tenants(2.0, 1.0, 2.0, 2.0), "does not give the diagnosis away"),
        (tenants(1.0, 1.0, 1.0, 1.0, hits=(3, 3, 3, 3)), "which tells nothing"),
        (tenants(1.0, 5.0, 5.0, 5.0, hits=(3, 3, 3, 3)), "which is noise"),
        (speculation_text.explanation(speculated(1.0)), "speculation won: 3.00 times"),
        (speculation_text.explanation(speculated(6.0)), "speculation lost: 0.500 times"),
        (speculation_text.explanation(speculated(3.0)), "do not agree on a winner: in the middle 1.00 times"),
        (speculation_sizes.words([speculated(1.0)]), "The best of these is k = 4: 3.00 times .* whatever k is"),
        (
            speculation_sizes.words([speculated(6.0)]),
            "None of these gains anything; .* 0.500 times .* takes 6.00 times",
        ),
        (
            speculation_sizes.words([speculated(1.0, num_drafted=0, num_accepted=0)]),
            "2 of its 2 rounds found nothing",
        ),
        (draws(is_mistaken=True, p=1e-9), "These draws show it"),
        (draws(is_mistaken=True, p=0.4), "too few to show it"),
        (draws(is_mistaken=False, p=0.4), "These draws agree"),
        (draws(is_mistaken=False, p=1e-9), "more than chance explains"),
        (draws(is_mistaken=False, p=None), "cannot show it"),
        (differ(1e-5, 0.1), "bfloat16 differs by up to 0.100, float32 by up to 0.0000100"),
        (differ(0.1, 1e-5), "float32 differs by up to 0.100, bfloat16"),
        (differ(0.1, 0.1), "differ by as much"),
        (agreement.words([]), "the texts part"),
        (at_scale(9.0, 5.0), "Apart wins: 1 prefill worker of 8 give 9.00 .* colocated 5.00"),
        (at_scale(5.0, 9.0), "Colocated wins: .* 9.00 .* gives 5.00"),
        (at_scale(5.0, 5.0), "makes no difference"),
        (at_scale(0.0, 0.0), "No request keeps both limits"),
        (
            cores.words(more_cores(1.77, 1.07, 1.4)),
            "1.77 times as fast, .* 1.07 times. Arithmetic .* gains 1.40 times",
        ),
        (
            cores.words(more_cores(1.1, 1.9, 1.2)),
            "1.10 times .* 1.90 times. Here one core alone .* not more than a step",
        ),
        (cores.words(more_cores(1.5, 1.5, 1.5)), "Here one core alone does not keep the bus to memory busy"),
        (cores.words(more_cores(0.5, 0.5, 0.5)), "Neither gains: other programs may have had the cores"),
        (cores.words(more_cores(1.77, 1.07, 1.4)[:2]), "^$"),
        (cores.title(more_cores(1.77, 1.07, 1.4)), "help the prompt more than the decode step"),
        (cores.title(more_cores(1.1, 1.9, 1.2)), "help the decode step more than the prompt"),
        (cores.title(more_cores(1.5, 1.5, 1.5)), "alike"),
        (cores.title(more_cores(0.5, 0.9, 0.5)), "neither phase faster"),
        (cores.title([]), "What more cores gain"),
        (load.sentence(AtLoad(0.0, 1.0, 1.0, 1.0, 1.0, 1.0), 0.0), "nobody queues: TTFT is 1.00 s"),
        (load.sentence(AtLoad(0.5, 1.0, 2.0, 4.0, 2.0, 1.0), 0.5), "Of the p99, 75.0 % is queueing"),
        (two_processes.words(None), "Serve both ways to see"),
    ],
)
def test_a_sentence_says_what_its_numbers_say(text: str, expected: str) -> None:
    assert re.search(expected, text), text
    assert not contradictions(text)


@pytest.mark.parametrize(
    "text",
    [
        "The newcomer pays: its TTFT is 5.06 s instead of 6.26 s, because its prompt took 9 passes.",
        "It helps decode: 0.9 times the tokens per second of static groups.",
        "It helps prefill: 800 ms became 1.20 s to the first token.",
        "batch 16 gives 2.00 times the tokens per second of batch 1, and it ends: batch 32 gives only 3.00 times",
    ],
)
def test_the_reader_sees_a_contradiction(text: str) -> None:
    assert contradictions(text)


def test_what_is_within_the_noise_went_neither_way() -> None:
    assert [way(1.0, after) for after in (0.5, 0.97, 1.0, 1.03, 2.0)] == ["less", *["the same"] * 3, "more"]
    assert way(0.0, 0.0) == "the same"


def test_counts_are_whole_and_a_cost_that_is_gone_is_no_number_of_times_as_good() -> None:
    changes = (Change("fit", 22.0, 44.0, "conversations"), Change("prompt", 1e9, 0.0, "FLOP"))
    rows = options_view.table((Optimisation("prefix cache", "", "", changes, ""),)).rows
    assert rows == [
        ["prefix cache", "fit", "22 conversations", "44 conversations", "2.00 times"],
        ["", "prompt", "1.00 GFLOP", "0 FLOP", "all of it saved"],
    ]


def _batch_words(of: Extremes) -> str:
    points, roofs = some.batches(of), some.ceilings(of)
    costs = [batch_cost(one, SPEC, roofs) for one in points]
    crossover = crossover_batch(roofs.ridge_point, 32)
    return batch_sweep.words(some.sweep(points), points, costs, roofs, crossover)


def _two(of: Extremes) -> str:
    found: ArrangementComparison = some.processes(of)
    return two_processes.words(found)


def _recompute(of: Extremes) -> str:
    arms = [
        one
        for n in (16, 64, 1024)[: of.whole(1, 3)]
        for one in (
            replace(some.point(of, context=n), setting=Setting("with cache", "decode", 1, n)),
            replace(some.point(of, context=n), setting=Setting("without cache", "prefill", n, n)),
        )
    ]
    return recompute.words(some.sweep(arms), (16, 64, 1024))


def _pass_card(of: Extremes) -> str:
    run, roofs = some.run(of), some.ceilings(of)
    return explanation(explained(step_work(run, run.steps[0]), of.time(), roofs))


def _continuous(of: Extremes) -> str:
    found = some.batching(of)
    return batching_text.explanation(found) if all(arm.num_tokens for arm in found.arms) else ""


def _goodput(of: Extremes) -> str:
    made = [one for one in some.requests(of) if one.event_times_s[-1] > one.sent_s]
    return goodput.verdict(made, [of.is_so() for _ in made], of.time(), of.time(), of.time()) if made else ""


PLAN = make(PlanSettings())
LONGEST = SPEC.max_context - PLAN.workload.output_tokens
TEXTS: Mapping[str, Callable[[Extremes], str]] = {
    "batch sweep": _batch_words,
    "chunks": lambda of: batching_stall.stall(some.batching(of)),
    "continuous": _continuous,
    "prefill batching": lambda of: prefill_batching.words(some.batched(of)),
    "two processes": _two,
    "recompute": _recompute,
    "pair": lambda of: pair(of.time(), of.time(), of.whole(0, 3)),
    "chat": lambda of: chat(of.time(), of.time(), of.whole(0, 3)),
    "shared": lambda of: shared(of.time(), of.time()),
    "tenants": lambda of: tenants(of.time(), of.time(), of.time(), hits=(of.whole(0, 3), 0, 0), salted_s=of.time()),
    "speculation": lambda of: speculation_text.explanation(some.speculated(of)),
    "theorem": lambda of: speculation_text.theorem(some.speculated(of)),
    "sizes": lambda of: speculation_sizes.words([some.speculated(of, num_drafted=n) for n in (1, 4)]),
    "agreement": lambda of: differ(of.wait(), of.wait()),
    "fleet": lambda of: at_scale(of.wait(), of.wait()),
    "load": lambda of: load.sentence(AtLoad(0.5, *sorted(of.wait() for _ in range(4)), 0.0), 0.5),  # type: ignore[call-arg]
    "waterfall": lambda of: waterfall.sentence(ttft_stages(some.run(of).steps[0]), of.share()),
    "modules": lambda of: modules.reason(some.probed(of), {"attention": of.share()} if of.is_so() else {}),
    "goodput": _goodput,
    "pass card": _pass_card,
    "clock": lambda of: layer_clock.words(list(clock_rows())[: of.whole(1, 9)]),
    "throughput": lambda of: throughput_view.words(
        curve(SPEC, PLAN.hardware, replace(PLAN.workload, prompt_tokens=of.whole(1, LONGEST)), PLAN.deployment)
    ),
}
assert models()["smollm2-135m"] == SPEC


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_whatever_was_measured_a_sentence_agrees_with_its_numbers(name: str, data: st.DataObject) -> None:
    text = TEXTS[name](Extremes(data.draw))
    assert not contradictions(text), text
    assert not NOT_A_NUMBER.search(text), text
    assert "–" not in text, text


def test_a_pass_is_bound_by_what_takes_half_of_it_and_by_nothing_else() -> None:
    roofs = Ceilings("CPU", "float32", 1e9, 1e12, 0.1, "2026-12-01", 2)
    work = step_work(some.run(Extremes(_most)), some.run(Extremes(_most)).steps[0])
    reading_s = work.bytes / roofs.bandwidth
    said = {times: explanation(explained(work, times * reading_s, roofs)) for times in (0.9, 1.5, 11.2)}
    assert said[1.5].startswith("Memory-bound: of its time, by the measured roofs, reading 66.7 %")
    assert said[11.2].startswith(
        "No single limit explains this pass: of its time, by the measured roofs, reading 8.9 %"
    )
    assert "above a measured roof" in said[0.9]
