"""Every bar and mark of the batching charts is a pass that happened."""

import base64
import json
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from inference.arithmetic.roofline import Ceilings
from inference.batching.cost import BatchCost, batch_cost, crossover_batch, tokens_per_s
from inference.batching.prefill import Batched
from inference.batching.presets import PRESETS
from inference.batching.records import Arrival, BatchPass, ServedPlan, ServingPlan, Share
from inference.batching.request_list import read, written
from inference.catalogue import models
from inference.machine.sweeps import Setting, SweepPoint
from pages.charts.batching.batching import gaps_chart, mean_ttft_chart, rate_by_batch, time_by_batch, together_chart
from pages.charts.batching.lanes import blocks_chart, lanes_chart, tokens_chart
from pages.charts.palette import COLOURS, ESTIMATE


def served(name: str = "by hand") -> ServedPlan:
    """A slot and two requests: the second one waits for two passes."""
    plan = ServingPlan(name, (Arrival(0, 7, 2), Arrival(1, 3, 2)), slots=1, tokens_per_pass=5)
    return ServedPlan(
        plan,
        (
            BatchPass(0, 1.0, 1, (Share(0, "prefill", 5, None),)),
            BatchPass(1, 0.5, 1, (Share(0, "prefill", 2, 11),)),
            BatchPass(2, 0.25, 1, (Share(0, "decode", 1, 12),)),
            BatchPass(3, 2.0, 2, (Share(1, "prefill", 3, 13),)),
            BatchPass(4, 0.25, 2, (Share(1, "decode", 1, 14),)),
        ),
    )


def values(numbers: Any) -> list[float]:
    if isinstance(numbers, dict):  # as JSON writes an array
        return [float(one) for one in np.frombuffer(base64.b64decode(numbers["bdata"]), numbers["dtype"])]
    return [float(one) for one in numbers]


def trace(chart: go.Figure, name: str) -> dict[str, Any]:
    (found,) = [one for one in json.loads(chart.to_json())["data"] if one["name"] == name]
    return dict(found)


def test_a_lane_is_drawn_from_where_each_state_began_to_where_it_ended() -> None:
    chart = lanes_chart([served()])
    spans = {
        state: list(
            zip(
                *(values(trace(chart, f"by hand: {state}")[axis]) for axis in ("y", "base", "x")),
                strict=True,
            )
        )
        for state in ("waiting", "prefill", "decode")
    }
    assert spans == {
        "waiting": [(2, 1.0, 0.75)],
        "prefill": [(1, 0.0, 1.5), (2, 1.75, 2.0)],
        "decode": [(1, 1.5, 0.25), (2, 3.75, 0.25)],
    }
    done = trace(chart, "by hand: done")
    assert (values(done["x"]), values(done["y"])) == ([1.75, 4.0], [1, 2])
    colours = [trace(chart, f"by hand: {state}")["marker"]["color"] for state in spans]
    assert colours == [ESTIMATE, COLOURS["prefill"], COLOURS["decode"]]


def test_each_arm_has_a_panel_of_its_own_over_the_same_seconds() -> None:
    chart = lanes_chart([served("one"), served("other")])
    assert {one.yaxis for one in chart.data if one.name.startswith("other")} == {"y2"}
    assert chart.layout.yaxis.domain[0] > chart.layout.yaxis2.domain[1]
    assert chart.layout.xaxis.anchor == "y2"
    assert [note.text for note in chart.layout.annotations] == [
        f"<b>{name}</b>: 5 passes, 4.00 s" for name in ("one", "other")
    ]


def test_tokens_and_blocks_are_those_of_each_pass() -> None:
    tokens = tokens_chart([served()])
    assert values(trace(tokens, "by hand: prefill")["y"]) == [5, 2, 3]
    assert values(trace(tokens, "by hand: prefill")["x"]) == [1.0, 1.5, 3.75]
    assert values(trace(tokens, "by hand: decode")["y"]) == [1, 1]
    blocks = trace(blocks_chart([served()]), "by hand: blocks")
    assert values(blocks["x"]) == [0.0, 1.0, 1.5, 1.75, 3.75, 4.0]
    assert values(blocks["y"]) == [1, 1, 1, 2, 2, 2]


def test_gaps_are_the_streams_and_the_shade_is_the_newcomers_wait() -> None:
    chart = gaps_chart([served()])
    gaps = trace(chart, "by hand: ITL")
    assert (values(gaps["x"]), values(gaps["y"])) == ([1.75], [250.0])
    (shade,) = chart.layout.shapes
    assert (shade.x0, shade.x1) == (1.0, 3.75)
    assert chart.layout.annotations[0].text == "<b>by hand</b>: newcomer's TTFT 2.75 s"


@pytest.mark.parametrize("draw", [lanes_chart, tokens_chart, blocks_chart, gaps_chart])
def test_before_the_first_pass_there_is_an_empty_chart(draw: Any) -> None:
    assert draw([]).layout.height
    assert not any(one.y is not None and len(one.y) for one in draw([ServedPlan(served().plan)]).data)


def batched(num_tokens: int, alone_s: float, together_s: float) -> Batched:
    one, four = (
        Setting("arm", "prefill", num_query_tokens=num_tokens, context_len=num_tokens, batch_size=size)
        for size in (1, 4)
    )
    return Batched(SweepPoint(one, (alone_s,), ()), SweepPoint(four, (together_s,), ()))


def test_four_prompts_in_turn_take_four_passes_and_wait_two_and_a_half_on_average() -> None:
    short, long = batched(4, 0.01, 0.02), batched(512, 1.0, 3.6)
    assert [short.in_turn_s, short.gain] == pytest.approx([0.04, 2.0])
    assert [long.gain, long.ttft_in_turn_s] == pytest.approx([4 / 3.6, 2.5])  # after 1, 2, 3 and 4 s
    assert [short.ttft_ratio, long.ttft_ratio] == pytest.approx([0.8, 1.44])
    assert values(trace(together_chart([short, long]), "one after another")["y"]) == pytest.approx([40, 4000])
    assert values(trace(mean_ttft_chart([short, long]), "in one pass")["y"]) == pytest.approx([20, 3600])


def test_the_weights_stop_being_the_cost_at_the_batch_of_the_claims() -> None:
    assert crossover_batch(989e12 / 3.35e12, 16) == pytest.approx(295, abs=1)  # H100, fp16
    assert crossover_batch(312e12 / 2.039e12, 16) == pytest.approx(153, abs=1)  # A100-80 SXM


def test_batch_costs_are_read_once_for_the_weights_and_per_sequence_for_the_cache() -> None:
    spec = models()["llama-3.1-8b"]
    roofs = Ceilings("GPU", "float16", 3.35e12, 989e12, 0.0, "2026-01-01", 1)
    settings = [
        Setting("decode", "decode", num_query_tokens=1, context_len=128, batch_size=size) for size in (1, 32)
    ]
    points = [SweepPoint(settings[0], (0.005,), ()), SweepPoint(settings[1], (0.008,), ())]
    one, many = (batch_cost(point, spec, roofs) for point in points)
    assert one.weights_s == many.weights_s == pytest.approx(4.48e-3, rel=2e-3)  # 15.01 GB over 3.35e12
    assert many.arithmetic_s == pytest.approx(32 * one.arithmetic_s)
    assert one.kv_share < many.kv_share < 0.1
    assert [tokens_per_s(point) for point in points] == [200, 4000]
    assert values(trace(rate_by_batch(points), "decode, measured")["y"]) == [200, 4000]
    costs: list[BatchCost] = [one, many]
    weights = trace(time_by_batch(points, costs, 295.0), "weights, read once")
    assert values(weights["y"]) == pytest.approx([4.48, 4.48], rel=2e-3)


def test_a_list_of_requests_reads_as_it_was_written() -> None:
    for arrivals in PRESETS.values():
        assert read(written(arrivals)) == arrivals


@pytest.mark.parametrize("line", ["1, 2", "1, 2, 3, 4", "a, 2, 3", "1.5, 2, 3", "1, 2, ²", "1, 2, 1234567"])
def test_a_line_that_is_not_three_whole_numbers_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="Line 2 must be three whole numbers"):
        read(f"0, 1, 1\n{line}")
