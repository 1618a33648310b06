"""What a class's answers are counted to, and what its file holds."""

import csv
import io
from datetime import UTC, datetime

import pytest

from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from pages.ui.classes.assignment import Assignment, from_settings, read_link
from pages.ui.classes.results import answer_key, idea_results, question_results, to_csv
from quizzes import (
    Choice,
    ChoiceQuestion,
    Item,
    MultipleQuestion,
    NumberQuestion,
    OrderQuestion,
    PredictQuestion,
    TermQuestion,
    load_questions,
)
from quizzes.progress.progress import ClassAnswer, StoredAnswer

WHICH = ChoiceQuestion(
    id="which",
    kind="choice",
    prompt="Which?",
    idea="phases",
    choices=(
        Choice(id="a", text="Apple", is_correct=False, feedback="No."),
        Choice(id="b", text="Bread", is_correct=True, feedback="Yes."),
    ),
)
SEVERAL = MultipleQuestion(
    id="several",
    kind="multiple",
    prompt="Several?",
    idea="phases",
    choices=tuple(Choice(id=one, text=one.upper(), is_correct=one != "c", feedback=one) for one in "abc"),
)
TERM = TermQuestion(id="term", kind="term", prompt="Name it.", idea="words", accepts=("prefill",), feedback="So.")
ORDER = OrderQuestion(
    id="order",
    kind="order",
    prompt="Sort.",
    idea="words",
    items=tuple(Item(id=one, text=one.upper()) for one in "xyz"),
    feedback="So.",
)


def given(member: int, question: str, text: str, is_correct: bool | None, nickname: str = "Ana") -> ClassAnswer:
    answer = StoredAnswer(text, is_correct, "idea", datetime(2026, 1, 1, tzinfo=UTC))
    return ClassAnswer(member, nickname, question, answer)


def test_choices_are_counted_by_option_whoever_chose_them() -> None:
    rows = [given(1, "which", "b", True), given(2, "which", "a", False), given(3, "which", "b", True)]
    (found,) = question_results(rows, [WHICH])
    assert (found.num_answered, found.num_right, found.num_wrong) == (3, 2, 1)
    assert [(one.text, one.num_learners, one.is_right) for one in found.given] == [
        ("Apple", 1, False),
        ("Bread", 2, True),
    ]


def test_of_several_choices_each_is_counted() -> None:
    rows = [given(1, "several", "a,b", True), given(2, "several", "a,c", False)]
    (found,) = question_results(rows, [SEVERAL])
    assert [(one.num_learners, one.is_right) for one in found.given] == [(2, True), (1, True), (1, False)]


def test_ideas_add_up_the_graded_answers_to_their_questions() -> None:
    rows = [
        given(1, "which", "b", True),
        given(1, "several", "c", False),
        given(2, "term", "prefill", True),
        given(2, "elsewhere", "x", True),
    ]
    ideas = idea_results(question_results(rows, [WHICH, SEVERAL, TERM]))
    assert {idea: (one.num_right, one.num_wrong) for idea, one in ideas.items()} == {
        "phases": (1, 1),
        "words": (1, 0),
    }


def test_the_answer_key_is_what_grading_takes() -> None:
    assert answer_key(WHICH) == "Bread"
    assert answer_key(SEVERAL) == "A; B"
    assert answer_key(ORDER) == "X, then Y, then Z"
    assert answer_key(TERM) == "prefill"
    numbers = [one for one in load_questions() if isinstance(one, NumberQuestion)]
    assert numbers
    for question in numbers:
        assert question.grade(answer_key(question)).is_correct or question.tolerance < 0.005
    assert {answer_key(one) for one in load_questions() if isinstance(one, PredictQuestion)} == {""}


def test_the_file_has_no_name_and_no_cell_that_a_spreadsheet_would_run() -> None:
    rows = [
        given(1, "term", '=HYPERLINK("http://x")', False, nickname="Ana Secret"),
        given(2, "term", "@now\r\nnext", False),
        given(3, "term", "prefill", True),
    ]
    text = to_csv({"=1. Lesson": question_results(rows, [TERM, ORDER])})
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    assert header[-3:] == ["answer", "is right", "learners"]
    assert "Ana" not in text
    assert {line[5] for line in lines} == {'\'=HYPERLINK("http://x")', "'@now\r\nnext", "prefill"}
    assert {line[0] for line in lines} == {"'=1. Lesson"}
    assert all(cell[:1] not in "=+-@" for line in lines for cell in line if cell)
    assert [line[6] for line in lines if line[5] == "prefill"] == ["yes"]


def test_an_assignment_is_the_same_after_the_database() -> None:
    recipe = Recipe("Über 😀 & =?", SamplingParams(temperature=0.5, seed=3), 12, model="some/model")
    given = Assignment(("prefill", "decode"), recipe.to_query(), "some/model")
    assert from_settings(given.to_settings()) == given
    assert given.recipe == recipe
    assert Assignment(("prefill",)).recipe is None


def test_a_pasted_link_gives_its_recipe_and_not_the_key_of_its_owner() -> None:
    recipe = Recipe("Hello", SamplingParams(temperature=0.5), 12)
    address = f"http://host/step-through?key={'k' * 22}&{recipe.to_query()}"
    assert read_link(address) == recipe
    assert "k" * 22 not in read_link(address).to_query()


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("", "no prompt"),
        ("http://host/step-through", "no prompt"),
        ("http://[", "no link"),
        ("http://host/?prompt=a&max=none", "whole number"),
        ("http://host/?prompt=a&sampling=heat=3", "no sampling setting"),
        ("http://host/?prompt=" + "a" * 20_000, "characters"),
    ],
)
def test_a_link_that_cannot_be_used_says_why(address: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_link(address)
