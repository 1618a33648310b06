"""Every tool's definition against what the tool's own code gave for the same events."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from inference.arithmetic.definitions import (
    AIPERF,
    DEFINITIONS,
    GENAI_PERF,
    VLLM_FROM_0_33,
    VLLM_TO_0_32,
    Definition,
    reading,
)
from inference.arithmetic.metrics import Request, e2e_s, itl_s, tpot_s, ttft_s
from inference.latency.request_events import EXAMPLES, A, C, D

KEPT: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("tool_readings.yaml").read_text(encoding="utf-8"))
POOLS = {
    name: tuple(
        Request(
            row["sent_s"], tuple(row["event_times_s"]), tuple(row["tokens_per_event"]), row["num_prompt_tokens"]
        )
        for row in rows
    )
    for name, rows in KEPT["pools"].items()
}


def in_units_printed(definition: Definition, pool: tuple[Request, ...]) -> dict[str, float]:
    one = reading(definition, pool)
    ms = {
        "ttft_ms": one.ttft_s,
        "tpot_ms": one.tpot_s,
        "itl_ms": one.itl_s,
        "gap_ms": one.gap_s,
        "e2e_ms": one.e2e_s,
    }
    rate = {} if one.output_tps is None else {"output_tps": one.output_tps}
    return {name: value * 1e3 for name, value in ms.items() if value is not None} | rate


def test_every_definition_has_numbers_from_its_tool_for_every_pool() -> None:
    assert [definition.name for definition in DEFINITIONS] == list(KEPT["tools"])
    for tool in KEPT["tools"].values():
        assert list(tool["printed"]) == list(POOLS)
        assert tool["ran"]
        assert tool["by"]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition.name)
def test_a_definition_gives_what_the_tools_own_code_gave(definition: Definition) -> None:
    for name, pool in POOLS.items():
        printed = KEPT["tools"][definition.name]["printed"][name]
        ours = in_units_printed(definition, pool)
        means_of_nothing = {metric for metric, value in printed.items() if value == 0 and metric not in ours}
        assert means_of_nothing <= {"tpot_ms", "itl_ms"}, name
        assert ours == pytest.approx({k: v for k, v in printed.items() if k not in means_of_nothing}, abs=6e-4), (
            name
        )


def test_the_worked_examples_are_among_the_pools() -> None:
    def rounded(pool: tuple[Request, ...]) -> list[tuple[tuple[float, ...], tuple[int, ...]]]:
        return [(tuple(round(time_s, 6) for time_s in one.event_times_s), one.tokens_per_event) for one in pool]

    kept = [rounded(pool) for pool in POOLS.values()]
    for name, pool in EXAMPLES.items():
        assert rounded(pool) in kept, name


def test_an_empty_first_chunk_ends_vllms_wait_up_to_0_32_and_not_from_0_33() -> None:
    old, new = reading(VLLM_TO_0_32, (D,)), reading(VLLM_FROM_0_33, (D,))
    assert (old.ttft_s, new.ttft_s) == pytest.approx((0.9, 2.2))
    assert (old.tpot_s, new.tpot_s) == pytest.approx((0.0884, 0.020), abs=5e-5)
    assert (old.itl_s, new.itl_s) == pytest.approx((0.084, 0.020))


def test_genai_perf_takes_a_mean_over_requests_as_its_successor_does() -> None:
    itls = [reading(definition, (A, C)).itl_s for definition in (GENAI_PERF, AIPERF)]
    assert itls == pytest.approx([0.110, 0.110])


def test_our_own_words_are_vllms_from_0_33() -> None:
    for pool in POOLS.values():
        for request in pool:
            assert VLLM_FROM_0_33.ttft_s(request) == [(ttft_s(request), 1)]
            assert VLLM_FROM_0_33.e2e_s(request) == [(e2e_s(request), 1)]
            assert VLLM_FROM_0_33.itl_s is not None
            assert VLLM_FROM_0_33.tpot_s is not None
            assert [gap for gap, _ in VLLM_FROM_0_33.itl_s(request)] == itl_s(request)
            assert [pace for pace, _ in VLLM_FROM_0_33.tpot_s(request)] == [
                tpot for tpot in [tpot_s(request)] if tpot is not None
            ]


def test_tokens_that_took_no_time_have_no_rate() -> None:
    assert reading(AIPERF, [Request(1.0, (1.0,), (3,), 5)]).output_tps is None
