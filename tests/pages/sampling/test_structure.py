"""The structure experiment without a browser: edit, generate, read what the mask did, and placed anywhere."""

import json
import time
from collections.abc import Callable

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from inference.structure.examples import EXAMPLES
from tests.pages import sockets
from tests.pages.labs import choose, component, figure, laboratory, texts


def _alone() -> None:
    from pages.ui.experiments.sampling.structure import structure  # noqa: PLC0415

    structure()


def _fixed() -> None:
    from pages.ui.experiments.sampling.structure import StructureSettings, structure  # noqa: PLC0415

    structure(StructureSettings(example="planet", source="<b>left</b>\nright"), key="there", is_fixed=True)


def _unmasked() -> None:
    from pages.ui.experiments.sampling.structure import StructureSettings, structure  # noqa: PLC0415

    structure(StructureSettings(max_new_tokens=6, is_masked=False), key="free", is_fixed=True)


@pytest.fixture
def page(app: AppTest) -> AppTest:
    """The experiment on an otherwise empty page; the fixture `app` has started the laboratory."""
    return AppTest.from_function(_alone, default_timeout=20).run()


def _generate(page: AppTest, key: str = "structure") -> AppTest:
    """Press Generate and wait for the end."""
    page.button(f"{key}-run-start").click()
    page.run()
    deadline = time.monotonic() + 60
    while any(button.label == "Cancel" for button in page.button) and time.monotonic() < deadline:
        time.sleep(0.05)
        page.run()
    assert not page.exception
    return page


def _choose(page: AppTest, example: str) -> AppTest:
    page.selectbox("structure-example").set_value(example)
    return page.run()


def _output(page: AppTest, key: str = "structure") -> str:
    return "".join(token["label"] for token in component(page, f"{key}-strip")["tokens"])


def test_the_page_opens_with_an_example_and_nothing_generated(page: AppTest) -> None:
    assert not page.exception
    assert page.text_area("structure-person-constraint").value == EXAMPLES["person"].constraint.source
    assert page.text_area("structure-person-prompt").value == EXAMPLES["person"].prompt
    assert _output(page) == ""
    assert "Press Generate" in component(page, "structure-strip")["hint"]


@pytest.mark.slow
@pytest.mark.parametrize("example", ["review", "date", "colours", "keys", "time", "planet", "wrong"])
def test_every_kind_of_constraint_is_met_and_judged_valid(page: AppTest, example: str) -> None:
    _generate(_choose(page, example))
    assert _output(page)
    assert "Complete, and valid" in texts(page)
    assert EXAMPLES[example].moral in texts(page)


def test_the_wrong_answer_is_called_valid_and_wrong(page: AppTest) -> None:
    _generate(_choose(page, "wrong"))
    assert any(city in _output(page) for city in ("London", "Berlin", "Madrid"))
    assert "Complete, and valid" in texts(page)
    assert "Valid and wrong: the schema has no room for Paris" in texts(page)


def test_a_forged_choice_of_a_token_chooses_none(page: AppTest) -> None:
    _choose(page, "planet")
    before = component(_generate(page), "structure-strip")
    (strip,) = [one for one in sockets.components(page) if one.endswith("-structure-strip")]
    for value in (True, -1, 10**9, 1.0, "1", None):
        state = {"picked": {"value": value, "run": before["run"]}}
        sockets.send(page, WidgetState(id=strip, json_value=json.dumps(state)))
        assert not page.exception, value
        assert component(page, "structure-strip")["shown"] == before["shown"], value


def test_a_moral_is_told_of_the_example_alone(page: AppTest) -> None:
    _choose(page, "planet")
    page.text_area("structure-planet-constraint").set_value("\ufeffPluto")  # a file's byte order mark, pasted along
    _generate(page.run())
    assert _output(page) == "Pluto"
    assert "Jupiter" not in texts(page)


def test_the_mask_is_read_token_by_token(page: AppTest) -> None:
    _choose(page, "planet")
    page.text_area("structure-planet-constraint").set_value("ab\nac")
    _generate(page.run())
    first, second = component(page, "structure-strip")["tokens"]
    assert "1 allowed" in first["hint"]
    assert "forced" in first["kind"].split()
    assert "2 allowed" in second["hint"]
    assert "forced" not in second["kind"].split()
    bars = figure(page, "structure-mass")["data"][0]
    assert len(bars["hovertext"]) == 2
    assert figure(page, "structure-mass")["layout"]["yaxis"]["title"]["text"] == "feasible mass, %, measured"
    assert figure(page, "structure-cost")["layout"]["yaxis"]["title"]["text"] == "ms, measured"
    step = component(page, "structure-step")
    vocabulary = laboratory().engine.spec.vocab_size  # type: ignore[union-attr]
    assert f"2 of {vocabulary:,} tokens allowed" in step["title"], "the one with a choice is looked at first"
    with_mask = [row[3] for row in step["rows"] if row[3]]
    assert set(with_mask) == {"“b”", "“c”"}
    assert sum(row[2] == "forbidden" for row in step["rows"]) >= 6, "eight raw ones, two of them allowed at most"
    assert step["marked"], "the chosen token is set in bold"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "source", "words"),
    [
        ("person", '{"enum": ["' + "x" * 1_048_576 + '"]}', "has 1,048,590 bytes; at most 65,536"),
        ("person", '{"type": "integer",}', "not JSON"),
        ("person", '{"$ref": "https://example.com/a.json"}', "nothing is fetched"),
        ("person", '{"type": "integer", "minimum": 2, "maximum": 1}', "minimum (2) is greater than maximum (1)"),
        ("person", '{"type": "array", "items": {"type": "null"}, "minItems": 100000}', "grew too complex"),
        ("time", "(", "unclosed group"),
        ("planet", " ", "empty"),
    ],
)
def test_what_is_refused_is_said_and_the_text_and_the_output_stay(
    page: AppTest, example: str, source: str, words: str
) -> None:
    name = f"structure-{example}-constraint"
    _choose(page, example)
    page.number_input(f"structure-{example}-maximum").set_value(12)
    kept = _output(_generate(page.run()))
    assert kept
    page.text_area(name).set_value(source)
    _generate(page.run())
    assert words in texts(page)
    assert page.text_area(name).value == source
    assert _output(page) == kept or words == "grew too complex", "that one is found out only while it runs"
    page.text_area(name).set_value(EXAMPLES[example].constraint.source)
    _generate(page.run())
    assert words not in texts(page), "a refusal is gone when the run is asked for again"


def test_each_example_keeps_its_edits_and_its_output(page: AppTest) -> None:
    _choose(page, "planet")
    page.text_area("structure-planet-constraint").set_value("mine")
    _generate(page.run())
    _choose(page, "time")
    assert _output(page) == ""
    _choose(page, "planet")
    assert page.text_area("structure-planet-constraint").value == "mine"
    assert _output(page) == "mine"


def test_a_run_cut_off_says_so(page: AppTest) -> None:
    _choose(page, "review")
    page.number_input("structure-review-maximum").set_value(3)
    _generate(page.run())
    assert "Cut off at the maximum of 3 tokens: incomplete, and not valid" in texts(page)


@pytest.mark.slow
def test_a_seed_draws_the_same_again_and_another_draws_otherwise(page: AppTest) -> None:
    _choose(page, "time")
    page.slider("structure-time-temperature").set_value(2.0)
    outputs = []
    for seed in (1, 1, 2, 3):
        page.number_input("structure-time-seed").set_value(seed)
        outputs.append(_output(_generate(page.run())))
    assert outputs[0] == outputs[1]
    assert len(set(outputs)) > 1


def test_it_is_a_view_of_the_sampling_lab(app: AppTest) -> None:
    app.run()
    app.switch_page("../lab/sampling.py")
    lab = choose(app.run(), "sampling-lab-view", "Structure")
    assert not lab.exception
    assert lab.button("structure-run-start").label in ("Generate", "Generate again")
    assert lab.text_area("structure-person-constraint").value


@pytest.mark.parametrize("script", [_fixed, _unmasked])
def test_with_fixed_settings_it_stands_on_an_empty_page_without_controls(
    app: AppTest, script: Callable[[], None]
) -> None:
    placed = AppTest.from_function(script, default_timeout=20).run()
    assert not placed.exception
    controls = [*placed.selectbox, *placed.number_input, *placed.slider, *placed.text_area, *placed.toggle]
    assert not controls
    _generate(placed, "there" if script is _fixed else "free")
    if script is _fixed:
        assert _output(placed, "there") in ("<b>left</b>", "right")
        assert [code.value for code in placed.code] == ["<b>left</b>\nright"]
    else:
        assert "Written without the mask: not valid" in texts(placed)


def test_the_experiment_waits_for_the_model_in_words(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = laboratory()
    monkeypatch.setattr(lab, "engine", None)
    monkeypatch.setattr(lab, "experiments", None)
    placed = AppTest.from_function(_alone, default_timeout=20).run()
    assert not placed.exception
    assert placed.button("structure-run-start").disabled
    assert lab.status.sentence in texts(placed)
