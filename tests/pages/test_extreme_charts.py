"""Every chart draws every measurement that can be had: no exception, no infinity in its words."""

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pages.charts
from inference import catalogue
from inference.arithmetic.estimate import prefill_terms
from inference.arithmetic.operators import operators
from inference.batching.cost import batch_cost
from inference.kv_cache.agreement import Agreement
from inference.kv_cache.paged import Conversation, layout
from inference.latency.waterfall import ttft_stages
from inference.machine.placed import place
from inference.planner.compare import compare
from inference.planner.deployment import Workload
from inference.planner.more_gpus import Scenario, side_by_side
from inference.planner.published.error import predictions
from inference.planner.published.layer_clock import rows as clock_rows
from inference.planner.ranking import curve, rank
from inference.planner.settings import PlanSettings, make
from inference.prefix_caching.chat import Turn
from inference.prefix_caching.shared import LearnerPrefill, SharedRun
from inference.sampling_lab.records import ChainView, Drawn, Draws, OrderView, StageView, TokenShare
from lessons.reading.cases import load_cases
from pages.charts.batching import batching, lanes
from pages.charts.disaggregation import two_processes as disaggregation
from pages.charts.kv_cache import agreement, blocks, growth, kv_formulas, recompute, scores
from pages.charts.latency import by_length as latency_lab
from pages.charts.latency import diagnosis, goodput, queueing, readings
from pages.charts.planner import compare as plan_compare
from pages.charts.planner import curve as planner_curve
from pages.charts.planner import error as planner_error
from pages.charts.planner import layer_clock, more_gpus
from pages.charts.planner import rank as planner_rank
from pages.charts.planner import request_time as planner_time
from pages.charts.prefix_caching import blocks as prefix
from pages.charts.prefix_caching import ttft as prefix_ttft
from pages.charts.roofline import cores, modules
from pages.charts.roofline import measured as lab_roofline
from pages.charts.roofline import operators as operators_chart
from pages.charts.run import cache_map, candidates, roofline, run
from pages.charts.sampling import bars as sampling_bars
from pages.charts.sampling import curves as sampling_lab
from pages.charts.sampling import structured
from pages.charts.speculation import rounds as speculative
from pages.charts.speculation import sizes as speculative_sizes
from tests.pages import measurements as some
from tests.pages.measurements import SPEC, Extremes
from tests.pages.sampling.test_structure_charts import RUN

NOT_A_NUMBER = re.compile(r"(?<![A-Za-z])(inf|nan|Infinity|NaN)(?![A-Za-z])")
PLAN = make(PlanSettings())


def _stage(of: Extremes, name: str) -> StageView:
    curve_of = tuple(of.share() for _ in range(4))
    top = tuple(TokenShare(n, b"a", n + 1, of.share(), of.share(), of.is_so()) for n in range(of.whole(1, 3)))
    return StageView(name, True, of.whole(1, 4), of.share(), of.wait(), top, curve_of)


def _chain(of: Extremes) -> ChainView:
    stages = tuple(_stage(of, name) for name in ("model", "temperature", "top-p"))
    return ChainView(4, (1, 2, 3, 4), stages, _stage(of, "renormalised top-10"), stages[0].top[0])


def _draws(of: Extremes) -> Draws:
    bins = tuple(Drawn(b"a", 1, of.whole(0, 100), of.share() * 100) for _ in range(of.whole(1, 3)))
    return Draws(100, bins, None)


def _roofline(of: Extremes) -> go.Figure:
    points = (*some.prefills(of), *some.batches(of))
    roofs = [some.ceilings(of) for _ in range(of.whole(0, 2))]
    sheet = catalogue.hardware()["l40s"] if of.is_so() else None
    return lab_roofline.lab_roofline(place(some.sweep(points)), roofs, sheet, ("float32", "bfloat16"))


def _ttft(of: Extremes) -> go.Figure:
    points, roofs = some.prefills(of), some.ceilings(of)
    lengths = [one.setting.context_len for one in points]
    return latency_lab.ttft_chart(points, [(n, prefill_terms(SPEC, roofs, n)) for n in lengths])


def _by_batch(of: Extremes) -> go.Figure:
    points, roofs = some.batches(of), some.ceilings(of)
    return batching.time_by_batch(points, [batch_cost(one, SPEC, roofs) for one in points], of.time())


def _pairs(of: Extremes) -> go.Figure:
    lengths = (16, 64, 1024)
    known = lengths[: of.whole(0, 3)]
    arms = [(some.point(of, context=n), some.point(of, phase="prefill", tokens=n, context=n)) for n in known]
    return recompute.time_chart(arms, lengths)


def _case(of: Extremes) -> go.Figure:
    case = load_cases()[1]
    passes = tuple(replace(one, forward_s=of.time(), queue_s=of.wait(), rebuild_s=of.wait()) for one in case.passes)
    return diagnosis.evidence(replace(case, passes=passes))


def _kept(of: Extremes) -> go.Figure:
    arrivals = tuple(
        LearnerPrefill(0, some.cached(of), of.whole(0, 9), of.whole(0, 9)) for _ in range(of.whole(1, 3))
    )
    return prefix.kept_blocks(SharedRun(SPEC, 16, of.time(), 9, arrivals, of.whole(0, 10**9)), 3)


def _turns(of: Extremes) -> go.Figure:
    turns = [
        Turn("q", "r", (some.cached(of),), (some.cached(of),), some.both_ways(of)) for _ in range(of.whole(0, 3))
    ]
    return prefix_ttft.ttft_turns(turns, 3, [(of.time(), of.time()) for _ in turns] if of.is_so() else ())


def _bars(of: Extremes) -> go.Figure:
    rows = [(name, (some.cached(of), some.cached(of))) for name in ("cold", "warm")[: of.whole(0, 2)]]
    return prefix_ttft.ttft_bars(rows, 2, likely_s=[of.time() for _ in rows] if of.is_so() else ())


def _paged(of: Extremes) -> go.Figure:
    held = [Conversation("a", 1, 1, 1), Conversation("b", 5, of.whole(5, 40), 64, 0, of.whole(0, 1))]
    return blocks.blocks(layout(held[: of.whole(0, 2)], block_size=of.whole(1, 256)))


def _norms(of: Extremes) -> go.Figure:
    columns = [[of.wait(), of.wait()] for _ in range(of.whole(1, 4))]
    return cache_map.norms_map(columns, of.whole(1, len(columns)), of="key")


def _loads(of: Extremes) -> go.Figure:
    rows = [queueing.AtLoad(load, of.wait(), of.wait(), of.wait(), of.wait(), of.time()) for load in (0.0, 0.5)]
    return queueing.load_curve(rows[: of.whole(1, 2)], 0.5)


def _splits(of: Extremes) -> go.Figure:
    return disaggregation.goodput_chart([(1, of.wait()), (2, of.wait())], of.wait(), 3)


def _differences(of: Extremes) -> go.Figure:
    found = [
        Agreement(name, (1, 2), (0.0, of.wait()), of.whole(1, 2) if of.is_so() else None)
        for name in ("float32", "bfloat16")
    ]
    return agreement.agreement(found[: of.whole(0, 2)], 2)


def _structured(of: Extremes) -> go.Figure:
    steps = tuple(replace(one, mask_s=of.wait(), forward_s=of.time()) for one in RUN.steps[: of.whole(0, 4)])
    return structured.step_costs(replace(RUN, steps=steps))


def _masses(of: Extremes) -> go.Figure:
    steps = tuple(replace(one, feasible_mass=of.share()) for one in RUN.steps)
    return structured.feasible_mass(replace(RUN, steps=steps), 0)


def _intensities(of: Extremes) -> go.Figure:
    context = of.whole(1, 2048)
    rows = {
        "prefill": operators(SPEC, num_query_tokens=context, context_len=context),
        "decode": operators(SPEC, num_query_tokens=1, context_len=context),
    }
    return operators_chart.intensities(rows, of.time() if of.is_so() else None)  # type: ignore[arg-type]


def _limits(of: Extremes) -> go.Figure:
    made = some.requests(of)
    return goodput.limits_chart(made, [of.is_so() for _ in made], ttft_limit_s=of.time(), tpot_limit_s=of.time())


def _candidates(of: Extremes) -> go.Figure:
    step = some.run(of).steps[0]
    return candidates.candidates(
        replace(step, candidates=tuple(replace(one, probability=of.share()) for one in step.candidates))
    )


def _drafts(of: Extremes) -> list[object]:
    return [some.speculated(of, num_drafted=size) for size in (1, 4, 8)[: of.whole(0, 3)]]


def _sizes(of: Extremes) -> go.Figure:
    return speculative_sizes.times_chart(_drafts(of), {1: of.time(), 3: of.time()})  # type: ignore[arg-type]


pytestmark = pytest.mark.slow  # some hundred figures
CASES: Mapping[str, Callable[[Extremes], go.Figure]] = {
    "kv_cache.agreement.agreement": _differences,
    "batching.batching.gaps_chart": lambda of: batching.gaps_chart(some.batching(of).arms),
    "batching.batching.mean_ttft_chart": lambda of: batching.mean_ttft_chart(some.batched(of)),
    "batching.batching.rate_by_batch": lambda of: batching.rate_by_batch(some.batches(of)),
    "batching.batching.time_by_batch": _by_batch,
    "batching.batching.together_chart": lambda of: batching.together_chart(some.batched(of)),
    "kv_cache.blocks.blocks": _paged,
    "run.cache_map.cache_map": lambda of: cache_map.cache_map(some.run(of)),
    "run.cache_map.norms_map": _norms,
    "run.candidates.candidates": _candidates,
    "latency.diagnosis.evidence": _case,
    "disaggregation.two_processes.gaps_chart": lambda of: disaggregation.gaps_chart(some.processes(of)),
    "disaggregation.two_processes.goodput_chart": _splits,
    "disaggregation.two_processes.lanes_chart": lambda of: disaggregation.lanes_chart(some.processes(of)),
    "disaggregation.two_processes.links_chart": lambda of: disaggregation.links_chart(
        [disaggregation.Moved("PCIe", of.time()), disaggregation.Moved("TCP", of.time())], of.time()
    ),
    "latency.goodput.limits_chart": _limits,
    "kv_cache.growth.cache_growth": lambda of: growth.cache_growth(
        SPEC, batch_size=of.whole(1, 10**6), context_len=of.whole(1, 10**7), free_bytes=of.wait() - 1
    ),
    "kv_cache.kv_formulas.kv_formulas": lambda of: kv_formulas.kv_formulas(
        [kv_formulas.Bar("a", of.wait(), of.is_so(), of.time()) for _ in range(of.whole(0, 3))]
    ),
    "roofline.measured.lab_roofline": _roofline,
    "batching.lanes.blocks_chart": lambda of: lanes.blocks_chart(some.batching(of).arms),
    "batching.lanes.lanes_chart": lambda of: lanes.lanes_chart(some.batching(of).arms),
    "batching.lanes.panels": lambda of: lanes.panels(some.batching(of).arms, height=100, y="y"),
    "batching.lanes.tokens_chart": lambda of: lanes.tokens_chart(some.batching(of).arms),
    "latency.by_length.itl_chart": lambda of: latency_lab.itl_chart(some.batches(of), [(1, of.time())]),
    "latency.by_length.ttft_chart": _ttft,
    "latency.by_length.waterfall": lambda of: latency_lab.waterfall(ttft_stages(some.run(of).steps[0])),
    "planner.layer_clock.layer_clock": lambda of: layer_clock.layer_clock(
        clock_rows()[: of.whole(1, 3)], of.time()
    ),
    "roofline.modules.module_shares": lambda of: modules.module_shares(
        [some.probed(of), some.probed(of, "decode")][: of.whole(0, 2)], {"prefill": {"attention": of.share()}}
    ),
    "roofline.cores.gains_chart": lambda of: cores.gains_chart(some.cores(of)),
    "planner.more_gpus.more_gpus": lambda of: more_gpus.more_gpus(
        side_by_side(
            Scenario(
                catalogue.models()["llama-3.1-8b"],
                catalogue.hardware()["h100-sxm-80gb"],
                Workload(of.whole(1, 10**5), of.whole(1, 999), of.whole(1, 999)),
                of.share(),
                of.share(),
            )
        )[0]
    ),
    "roofline.operators.intensities": _intensities,
    "palette.figure": _masses,
    "planner.compare.plan_compare": lambda of: plan_compare.plan_compare(
        compare(SPEC, Workload(of.whole(1, 2048), 1), [catalogue.hardware()["l40s"]])[0], ["L40S"], of.time()
    ),
    "planner.curve.throughput": lambda of: planner_curve.throughput(
        curve(PLAN.spec, PLAN.hardware, Workload(of.whole(1, 9999), of.whole(1, 99)), PLAN.deployment), PLAN
    ),
    "planner.error.agreement": lambda of: planner_error.agreement(predictions()[: of.whole(1, 4)]),
    "planner.rank.ranking": lambda of: planner_rank.ranking(
        rank(SPEC, PLAN.workload, PLAN.deployment, list(catalogue.hardware().values())[: of.whole(0, 4)]), "ITL", ""
    ),
    "planner.request_time.request_time": lambda of: planner_time.request_time(
        make(replace(PlanSettings(), prompt_tokens=of.whole(1, 10**5), output_tokens=of.whole(1, 99)))
    ),
    "prefix_caching.blocks.kept_blocks": _kept,
    "prefix_caching.blocks.strips": lambda of: prefix.strips([("a", some.cached(of))][: of.whole(0, 1)], 3),
    "prefix_caching.blocks.token_bars": lambda of: prefix.token_bars(
        [some.cached(of)][: of.whole(0, 1)], 3, "turn"
    ),
    "prefix_caching.ttft.ttft_bars": _bars,
    "prefix_caching.ttft.ttft_turns": _turns,
    "latency.queueing.load_curve": _loads,
    "latency.readings.timeline": lambda of: readings.timeline(some.requests(of), is_measured=True),
    "kv_cache.recompute.time_chart": _pairs,
    "kv_cache.recompute.token_forwards_chart": lambda of: recompute.token_forwards_chart(
        of.whole(1, 9**6), of.whole(1, 9**6)
    ),
    "run.roofline.roofline": lambda of: roofline.roofline(some.run(of)),
    "run.run.kv_growth": lambda of: run.kv_growth(some.run(of)),
    "run.run.latency_per_pass": lambda of: run.latency_per_pass(some.run(of)),
    "sampling.bars.draw_counts": lambda of: sampling_bars.draw_counts(_draws(of)),
    "sampling.bars.top_tokens": lambda of: sampling_bars.top_tokens(_stage(of, "top-p")),
    "sampling.curves.order_curve": lambda of: sampling_lab.order_curve(
        OrderView(_chain(of), _chain(of), 0, 0, (), ())
    ),
    "sampling.curves.rank_curve": lambda of: sampling_lab.rank_curve(_chain(of), "top-p"),
    "kv_cache.scores.score_matrix": lambda of: scores.score_matrix(SPEC, num_tokens=of.whole(1, 10**7)),
    "speculation.rounds.rounds_chart": lambda of: speculative.rounds_chart(some.speculated(of)),
    "speculation.sizes.times_chart": _sizes,
    "speculation.sizes.tokens_chart": lambda of: speculative_sizes.tokens_chart(_drafts(of)),  # type: ignore[arg-type]
    "sampling.structured.feasible_mass": _masses,
    "sampling.structured.step_costs": _structured,
}


def _public_charts() -> set[str]:
    found = set()
    for info in pkgutil.walk_packages(pages.charts.__path__, "pages.charts."):
        module = importlib.import_module(info.name)
        for name, made in inspect.getmembers(module, inspect.isfunction):
            is_chart = inspect.signature(made).return_annotation is go.Figure
            if is_chart and made.__module__ == module.__name__ and not name.startswith("_"):
                found.add(f"{info.name.removeprefix('pages.charts.')}.{name}")
    return found


def words_of(chart: go.Figure) -> str:
    """Everything that is read on it: titles, labels, ticks, hovers."""
    drawn = json.loads(chart.to_json())
    texts = [note["text"] for note in drawn["layout"].get("annotations", [])]
    for axis in (value for name, value in drawn["layout"].items() if name[1:].startswith("axis")):
        texts += [axis.get("title", {}).get("text", ""), *map(str, axis.get("ticktext", []) or [])]
    for trace in drawn["data"]:
        for name in ("hovertext", "text", "hovertemplate", "name"):
            value = trace.get(name) or ""
            texts += [value] if isinstance(value, str) else map(str, value)
    return "\n".join(texts)


def test_every_public_chart_is_among_the_cases() -> None:
    assert set(CASES) == _public_charts()


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_chart_draws_whatever_can_be_measured(name: str, data: st.DataObject) -> None:
    chart = CASES[name](Extremes(data.draw))
    assert not NOT_A_NUMBER.search(words_of(chart))
    for note in chart.layout.annotations:
        assert all(isinstance(at, str) or abs(at) < float("inf") for at in (note.x, note.y))
