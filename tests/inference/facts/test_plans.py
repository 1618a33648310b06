"""What lesson 13 quotes of the planner, worked out apart from it: from the fit and from the sources."""

import pytest

from inference import facts
from inference.files.safe_yaml import read_yaml
from inference.planner import efficiency

FITTED = read_yaml(efficiency.FILE)["engines"]


def test_a_step_is_its_bytes_over_a_share_of_the_bandwidth_and_a_clock_for_each_layer() -> None:
    hopper = FITTED["serving"]["families"]["hopper"]
    e, c = hopper["bandwidth_share"], hopper["layer_s"]
    assert facts.value("e_serving_h100") == e
    assert facts.value("clock_s_8b_h100") == pytest.approx(32 * c)
    expected = 15.009e9 / (e * 3.35e12) + 32 * c  # weights but the input embedding, 3.35 TB/s
    assert facts.value("expected_step_s_8b_h100") == pytest.approx(expected, rel=1e-3)
    assert facts.value("c_eager_a100") == FITTED["eager"]["families"]["a100"]["layer_s"]


def test_eight_cards_share_the_bytes_and_not_the_clock() -> None:
    hopper = FITTED["serving"]["families"]["hopper"]
    read, clock = 139.0e9 / (hopper["bandwidth_share"] * 3.35e12), 80 * hopper["layer_s"]
    gain = (read + clock) / (read / 8 + clock + 160 * 10e-6)
    assert facts.value("tp_expected_gain_70b_8") == pytest.approx(gain, rel=2e-3)
    assert facts.value("tp_expected_gain_70b_8") < facts.value("tp_gain_70b_8")


def test_caches_of_eight_long_prompts_push_the_70b_to_four_cards() -> None:
    assert facts.value("caches_retrieval_70b") == 8 * 8320 * 327_680
    assert facts.value("held_retrieval_70b") == pytest.approx(162.9e9, rel=1e-3)
    assert facts.value("cards_by_bytes_retrieval_70b_h100") == 3  # of 80 GB each
    assert facts.value("cards_retrieval_70b_h100") == 4  # 64 query heads are not shared out evenly over 3


def test_the_balance_tips_with_the_number_of_conversations_and_the_cards_change_places() -> None:
    assert facts.value("retrieval_prefill_share_1") < 0.5 < facts.value("retrieval_prefill_share_8")
    assert facts.value("retrieval_times_l40s_rtx_5090") > 1
    assert facts.value("writing_times_rtx_5090_l40s") > 1.5


def test_the_clock_of_a_7b_is_as_its_source_prints_it() -> None:
    assert facts.value("eager_s_qwen_7b") == pytest.approx(1 / 40.38)
    assert facts.value("eager_seconds_ratio") == pytest.approx(47.40 / 40.38)
    assert (facts.value("eager_layers_qwen_05b"), facts.value("eager_layers_qwen_7b")) == (24, 28)
    assert facts.value("eager_params_ratio") == pytest.approx(7.616 / 0.494, rel=1e-3)


def test_the_errors_quoted_are_within_what_the_planner_promises() -> None:
    assert facts.value("plan_error_prefill") < 0.18
    assert facts.value("plan_error_decode") < 0.10
    assert facts.value("plan_rows_decode") >= 25


def test_lesson_13_says_draw_where_two_errors_cover_a_lead_and_faster_where_they_do_not() -> None:
    error = facts.value("plan_error_prefill")
    assert facts.value("retrieval_times_l40s_rtx_5090") < 1 + 2 * error
    assert facts.value("writing_times_rtx_5090_l40s") > 1 + 2 * error


def test_lesson_13_says_that_nearly_all_decode_rows_have_a_single_sequence() -> None:
    assert 0.9 < facts.value("plan_rows_decode_alone") / facts.value("plan_rows_decode") < 1
