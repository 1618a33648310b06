"""When roofs are measured again, and what is kept of the older ones."""

import itertools
from dataclasses import replace

import pytest

from inference.arithmetic.roofline import MULTIPLY, OVERHEAD, READ, Ceilings, Spread, share_of_roof
from inference.cost import Work
from inference.machine.roof_watch import BEATEN, FIRST_PAUSE_S, LONGEST_PAUSE_S, WIDE, RoofWatch, higher, widest

CALM = Ceilings(
    "a machine",
    "float32",
    bandwidth=20e9,
    flops=200e9,
    overhead_s=0.010,
    measured_on="2026-12-01",
    threads=2,
    matmul_ladder=((1, 1e-10), (2, 2e-10)),
    attention_flops=90e9,
    elementwise_s=1e-9,
    spreads=(
        Spread(READ, 19e9, 19.5e9, 20e9),
        Spread(MULTIPLY, 190e9, 195e9, 200e9),
        Spread(OVERHEAD, 0.0101, 0.0105, 0.011),
    ),
)
BUSY = replace(
    CALM,
    bandwidth=12.9e9,
    flops=199e9,
    overhead_s=0.0228,
    matmul_ladder=((1, 3e-10),),
    attention_flops=95e9,
    spreads=(
        Spread(READ, 6e9, 9e9, 12e9),
        Spread(MULTIPLY, 180e9, 190e9, 198e9),
        Spread(OVERHEAD, 0.023, 0.030, 0.040),
    ),
    left_out=("Not measured, nor anything larger: the model's products of 2 tokens.",),
)


def test_the_width_is_the_distance_of_the_quartiles_over_the_median() -> None:
    assert Spread(READ, 6e9, 9e9, 12e9).width == pytest.approx(2 / 3)
    assert widest(CALM) is None
    assert widest(BUSY) == Spread(READ, 6e9, 9e9, 12e9)


def test_a_pass_at_twice_its_roof_took_half_the_least_time() -> None:
    work = Work(flops=20e9, weight_bytes=4e9, kv_read_bytes=0, kv_write_bytes=0, activation_bytes=0)
    assert share_of_roof(work, 0.2, CALM) == pytest.approx(1.0)  # 4 GB at 20 GB/s
    assert share_of_roof(work, 0.1, CALM) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("roofs", "share", "is_due"),
    [
        (CALM, 0.9, False),
        (CALM, BEATEN - 0.01, False),
        (CALM, BEATEN, True),
        (BUSY, 0.0, True),
        (replace(CALM, spreads=(Spread(READ, 1, 1 / WIDE, 2.01),)), 0.0, True),  # 1.01 apart at a median of 4
        (replace(CALM, spreads=()), 0.0, False),
    ],
)
def test_roofs_are_measured_again_when_they_were_beaten_or_far_apart(
    roofs: Ceilings, share: float, is_due: bool
) -> None:
    assert RoofWatch(0.0).is_due(roofs, share, FIRST_PAUSE_S + 1) == is_due


def test_a_pass_that_beat_them_during_the_pause_is_not_forgotten() -> None:
    watch = RoofWatch(0.0)
    assert not watch.is_due(CALM, 1.3, 1.0)
    assert watch.highest_share == 1.3
    assert watch.is_due(CALM, 0.5, FIRST_PAUSE_S)
    watch.ended(FIRST_PAUSE_S)
    assert not watch.is_due(CALM, 0.5, 10 * LONGEST_PAUSE_S)


def test_on_a_machine_that_is_always_busy_the_pauses_double_up_to_an_hour() -> None:
    watch, now_s, starts = RoofWatch(0.0), 0.0, list[float]()
    while now_s < 24 * 3600:
        if watch.is_due(BUSY, 0.0, now_s):
            starts.append(now_s)
            watch.ended(now_s)
        now_s += 1
    pauses = [after - before for before, after in itertools.pairwise(starts)]
    assert starts[0] == FIRST_PAUSE_S
    assert pauses[:3] == [120, 240, 480]
    assert pauses[-1] == LONGEST_PAUSE_S
    assert len(starts) < 35, "a day"


def test_what_the_busier_measurement_found_lower_stays_with_its_spread() -> None:
    merged = higher(CALM, BUSY)
    assert (merged.bandwidth, merged.overhead_s, merged.attention_flops) == (20e9, 0.010, 95e9)
    assert merged.flops == 199e9, "within 5 % they are the same roof, and the newer stands"
    assert merged.spreads == (CALM.spreads[0], BUSY.spreads[1], CALM.spreads[2])
    assert merged.matmul_ladder == CALM.matmul_ladder
    assert merged.left_out == ()


def test_a_calmer_measurement_takes_the_place_of_a_busy_one() -> None:
    assert higher(BUSY, replace(CALM, attention_flops=96e9)) == replace(CALM, attention_flops=96e9)
