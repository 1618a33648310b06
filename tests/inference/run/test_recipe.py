"""A run's recipe in a link and as code; links that nobody wrote by hand."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from inference.engine import Engine
from inference.generation import Generation
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe, from_query, to_code
from tests.inference.passes import advance

FULL = Recipe(
    prompt="Ünïcode 🧑‍🚀 & a=b;c #x\r\n+ 100 %",
    params=SamplingParams(0.7, 50, 0.95, 0.05, 1.1, {5: -1.5, 260: 2}, 7, True),
    max_new_tokens=100,
    chat_template=True,
    stop=("\n\n", "a,b:c;d", "&"),
    num_steps=12,
    forced={0: 5, 7: 319},
    changes=((3, SamplingParams()), (9, SamplingParams(temperature=1.0, logit_bias={1: 0.1 + 0.2}))),
    model="random:tiny",
)


@pytest.mark.parametrize("recipe", [FULL, Recipe("Hello")])
def test_a_recipe_read_from_its_own_link_is_equal(recipe: Recipe) -> None:
    assert from_query(parse_qs(recipe.to_query(), keep_blank_values=True)) == (recipe, [])


@pytest.mark.parametrize("query", [{}, {"prompt": []} | {"prompt": [""]}, {"sampling": ["x"], "max": ["-1"]}])
def test_a_link_without_a_prompt_has_no_recipe(query: dict[str, list[str]]) -> None:
    assert from_query(query) == (None, [])


RUBBISH = [
    *[{"max": [text]} for text in ("0", "-5", "many", "1e3", "9" * 5000, "1.5", "\0", "100001")],
    *[{"steps": [text]} for text in ("-1", "x", "9" * 5000)],
    *[{"sampling": [text]} for text in ("x", "temperature=", "seed=" + "9" * 400, "top_p=nan", "=", "a" * 10_000)],
    *[{"forced": [text]} for text in ("", "x", "5", "5:", ":5", "-1:5", "5:-1", "5:" + "9" * 500, "²:5", "٣:5")],
    *[{"change": [text]} for text in ("", "x", "x:temperature=1", "5:heat=1", "9999999:temperature=1")],
    {"forced": [f"{index}:5" for index in range(100_000)]},
    {"stop": ["a"] * 1_000},
    {"stop": ["a" * 100_000]},
]


@pytest.mark.parametrize("query", RUBBISH, ids=lambda query: repr(query)[:40])
def test_rubbish_in_a_link_is_left_out_with_a_sentence(query: dict[str, list[str]]) -> None:
    recipe, problems = from_query({"prompt": ["Hello"]} | query)
    assert recipe is not None
    assert recipe.prompt == "Hello"
    assert len(problems) == 1
    assert "\n" not in problems[0]
    assert len(problems[0]) < 250 or "sampling" in query


def test_the_last_of_two_values_counts_and_unknown_names_are_ignored() -> None:
    recipe, problems = from_query({"prompt": ["a", "b"], "max": ["3", "4"], "utm_source": ["x"]})
    assert recipe == Recipe("b", max_new_tokens=4)
    assert problems == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "options"),
    [
        (SamplingParams(), {}),
        (SamplingParams(repetition_penalty=1.3), {"chat_template": True}),
        (SamplingParams(repetition_penalty=1.2, logit_bias={70: 1.5, 71: -2.0}), {}),
        (SamplingParams(repetition_penalty=1.3), {"stop": ("k", "!")}),
    ],
)
def test_the_exported_code_prints_the_runs_text(
    tiny: Engine, tmp_path: Path, params: SamplingParams, options: dict[str, object]
) -> None:
    tiny.model.save_pretrained(tmp_path)
    tiny.tokenizer.save_pretrained(tmp_path)
    run = Generation(tiny, 'A "quoted" prompt\n', params, 24, **options)  # type: ignore[arg-type]
    advance(run, 24)
    code = to_code(run.trace).replace("'random:tiny'", repr(str(tmp_path)))
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "exported", "exec"), {})
    assert printed.getvalue() == run.trace.text + "\n"


def test_the_exported_code_of_a_sampled_or_steered_run_says_what_differs(tiny: Engine) -> None:
    run = Generation(tiny, "Hello", SamplingParams(temperature=0.7, top_k=5, top_p=0.9, min_p=0.1))
    advance(run, 2)
    run.fork(65)
    code = to_code(run.trace)
    for line in ("do_sample=True", "temperature=0.7", "top_k=5", "top_p=0.9", "min_p=0.1", "draws", "by hand"):
        assert line in code
