"""The sampling lab's figures and words, from distributions small enough to check by eye."""

import math

import numpy as np
import pytest
import torch

from inference.run.params import SamplingParams
from inference.sampling_lab.next_token import NextToken
from inference.sampling_lab.records import ChainView, Drawn, Draws, OrderView
from inference.sampling_lab.views import chain_view, order_view
from pages.charts import palette
from pages.charts.sampling.bars import draw_counts, shown_bins, top_tokens
from pages.charts.sampling.curves import order_curve, rank_curve
from pages.ui.experiments.sampling import chain, draws, order

FOUND = NextToken(
    torch.tensor([math.log(share) for share in (1 / 2, 1 / 4, 1 / 8, 1 / 8)]),
    (),
    {0: b"<b>", 1: b" two", 2: b"\xe2", 3: b"&"},
)


def halves(**settings: float) -> ChainView:
    return chain_view(FOUND, SamplingParams(**({"temperature": 1.0} | settings)))  # type: ignore[arg-type]


def orders(**settings: float) -> OrderView:
    return order_view(FOUND, SamplingParams(**settings))  # type: ignore[arg-type]


def test_the_curve_is_the_models_distribution_and_the_stages_and_ends_where_it_cuts() -> None:
    model, stage = rank_curve(halves(top_k=2), "top-k").data
    assert list(model.x) == [1, 2, 3, 4]
    assert list(model.y) == pytest.approx([1 / 2, 1 / 4, 1 / 8, 1 / 8])
    assert list(stage.y[:2]) == pytest.approx([2 / 3, 1 / 3])
    assert np.isnan(stage.y[2:]).all()
    assert stage.line.width > model.line.width
    assert [trace.name for trace in rank_curve(halves(), "model").data] == ["model"]


def test_a_single_kept_token_is_drawn_as_a_point() -> None:
    assert rank_curve(halves(top_k=1), "top-k").data[1].mode == "lines+markers"


def test_the_best_tokens_show_both_probabilities_and_say_what_was_cut_markup_as_text() -> None:
    figure = top_tokens(halves(top_k=2).stage("top-k"))
    model, stage = figure.data
    assert list(model.x) == pytest.approx([50, 25, 12.5, 12.5])
    assert list(stage.x) == pytest.approx([200 / 3, 100 / 3, 0, 0])
    assert list(figure.layout.yaxis.ticktext[:2]) == ["&lt;b&gt;", "␣two"]
    assert set(figure.layout.yaxis.ticktext[2:]) == {"⟨E2⟩", "&amp;"}
    assert [note.text for note in figure.layout.annotations][1:3] == ["25.0 % → 33.3 %", "12.5 %, cut"]


def test_both_orders_are_named_at_their_ends() -> None:
    def told(view: OrderView) -> list[str]:
        return [note.text for note in order_curve(view).layout.annotations]

    assert told(orders(temperature=0.3, top_p=0.7)) == [
        "model",
        "last: 2 kept",
        "first: 1 kept",
    ]
    assert told(orders(temperature=1.0, top_p=0.7)) == ["model", "both orders: 2 kept"]


def test_the_expected_count_stands_between_two_standard_errors() -> None:
    """100 draws of a half: 50, and the square root of 100 / 4 is 5."""
    counted, expected = draw_counts(Draws(100, (Drawn(b"<", 1, 47, 50.0), Drawn(None, 9, 53, 50.0)), None)).data
    assert (list(counted.x), list(expected.x)) == ([47, 53], [50, 50])
    assert list(expected.error_x.array) == pytest.approx([10, 10])
    assert counted.hovertext[0].startswith("&lt;: 47 drawn, 50.0 expected")


def test_more_bins_than_fit_are_shown_together_and_none_is_lost() -> None:
    bins = (*(Drawn(b"x", 1, place, 30.0 - place) for place in range(25)), Drawn(None, 100, 7, 9.0))
    shown = shown_bins(Draws(500, bins, None))
    assert len(shown) == 12
    assert (shown[-1].raw, shown[-1].num_tokens) == (None, 114)
    for name in ("count", "expected", "num_tokens"):
        assert sum(getattr(one, name) for one in shown) == sum(getattr(one, name) for one in bins)


def test_no_phase_has_lent_its_colour() -> None:
    view = halves(top_k=2)
    some = Draws(10, (Drawn(b"a", 1, 10, 10.0),), None)
    for figure in (rank_curve(view, "top-k"), top_tokens(view.last), order_curve(orders()), draw_counts(some)):
        text = figure.to_json()
        assert palette.PREFILL not in text
        assert palette.DECODE not in text


def test_without_logits_the_charts_are_empty_frames() -> None:
    for figure in (rank_curve(None, "top-k"), top_tokens(None), order_curve(None), draw_counts(None)):
        assert not figure.data
        assert figure.layout.xaxis.showticklabels is False


def test_the_stage_table_has_kept_mass_and_bits_or_off() -> None:
    rows = {row[0]: row[1:] for row in chain.stage_table(halves(top_k=2)).rows}
    assert rows["model"] == ["4", "100 %", "1.75 bits"]
    assert rows["top-k"] == ["2", "75.0 %", "0.918 bits"]  # 2/3 and 1/3
    assert rows["top-p"] == ["off", "", ""]


@pytest.mark.parametrize(
    ("num_kept", "right"),
    [(9, "fewer than 10"), (10, "10 to 100"), (100, "10 to 100"), (101, "100 to 1,000"), (5_000, "over 1,000")],
)
def test_the_prediction_is_judged_by_the_number_kept(num_kept: int, right: str) -> None:
    logits = torch.linspace(0, -20, 10_000)
    found = NextToken(logits, (), dict.fromkeys(range(10_000), b"."))
    view = chain_view(found, SamplingParams(1.0, top_k=num_kept))
    assert chain.verdict(view).right == right


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, "greedy decoding cuts nothing"),
        ({"temperature": 1.0, "top_p": 0.6}, "a temperature of 1 changes nothing"),
        ({"temperature": 0.5, "top_k": 2}, "top-k counts tokens"),
        ({"temperature": 0.9, "top_p": 0.6}, "the cuts fall at the same token"),
    ],
)
def test_equal_sets_are_explained(settings: dict[str, float], why: str) -> None:
    params = SamplingParams(**settings)  # type: ignore[arg-type]
    assert why in order.words(order_view(FOUND, params), params)


def test_the_p_value_is_put_into_words() -> None:
    assert "with 43 % of seeds: no reason to doubt" in draws.verdict(0.43)
    assert "with 2.0 % of seeds: rare" in draws.verdict(0.02)
    assert "less than once in a thousand" in draws.verdict(1e-9)
    assert (draws.p_words(0.0421), draws.p_words(1e-9)) == ("0.0421", "under 0.001")
