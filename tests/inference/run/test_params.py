"""Sampling settings: checked when made, and spelled in one line."""

import math
from typing import Any

import pytest

from inference.run.params import SamplingParams

EVERYTHING = SamplingParams(
    temperature=0.7,
    top_k=40,
    top_p=0.95,
    min_p=0.05,
    repetition_penalty=1.1,
    logit_bias={5: 1.2345678901, 260: -5},
    seed=2**53 - 1,
    temperature_last=True,
)


def test_the_default_is_greedy_without_any_cut() -> None:
    params = SamplingParams()
    assert params.is_greedy
    assert params.spelled() == ""


@pytest.mark.parametrize("temperature", [1e-4, 0.7, 1.0, 2, 1e4])
def test_a_temperature_above_zero_is_not_greedy(temperature: float) -> None:
    assert not SamplingParams(temperature=temperature).is_greedy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("temperature", value) for value in (-0.1, 1e-9, 1e5, math.nan, math.inf, True, "1", None)],
        *[("top_k", value) for value in (-1, 1.5, True, "5")],
        *[("top_p", value) for value in (0, -0.1, 1.1, math.nan, False, "0.9")],
        *[("min_p", value) for value in (-0.1, 1.1, math.nan)],
        *[("repetition_penalty", value) for value in (0, -1, 1000, math.inf)],
        *[("seed", value) for value in (-1, 2**53, 10**400, 1.0)],
        *[("logit_bias", value) for value in ({-1: 1.0}, {5: math.nan}, {5: 1e9}, {"5": 1.0}, {5: "1"})],
        ("temperature_last", 1),
    ],
)
def test_a_setting_out_of_its_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name) as refusal:
        SamplingParams(**{name: value})
    assert len(str(refusal.value)) < 150


@pytest.mark.parametrize(
    "params",
    [SamplingParams(), EVERYTHING, SamplingParams(temperature=1), SamplingParams(top_p=0.1 + 0.2, seed=7)],
)
def test_settings_read_back_from_their_spelling_are_equal(params: SamplingParams) -> None:
    assert SamplingParams.from_spelled(params.spelled()) == params


def test_an_empty_bias_is_spelled_like_none() -> None:
    assert SamplingParams(logit_bias={}).spelled() == ""


@pytest.mark.parametrize(
    "text",
    [
        "temperature",
        "temperature=hot",
        "temperature=nan",
        "temperature=1e999",
        "top_k=1.5",
        "top_k=" + "9" * 5000,
        "seed=" + "9" * 400,
        "logit_bias=",
        "logit_bias=5",
        "logit_bias=5:x",
        "logit_bias=-5:1",
        "temperature_last=yes",
        "heat=1",
        "=1",
        "__class__=1",
        "=,=,=",
    ],
)
def test_another_spelling_is_refused_with_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        SamplingParams.from_spelled(text)


def test_a_bias_on_a_token_that_the_vocabulary_lacks_is_refused() -> None:
    SamplingParams(logit_bias={319: 1.0}).check_vocabulary(320)
    with pytest.raises(ValueError, match="token 320, but the vocabulary ends at 319"):
        SamplingParams(logit_bias={320: 1.0}).check_vocabulary(320)
