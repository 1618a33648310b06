"""Questions load, hide their answers, and grade."""

from dataclasses import asdict
from pathlib import Path

import pytest

from quizzes import (
    MAX_ANSWER_CHARS,
    ChoiceQuestion,
    ContentError,
    Point,
    WrittenQuestion,
    load_questions,
)
from quizzes.kinds.filled import filled
from tests.quizzes.secrets_of import secrets_of

QUESTIONS = load_questions()
CHOICE = [question for question in QUESTIONS if isinstance(question, ChoiceQuestion)]
WRITTEN = [question for question in QUESTIONS if isinstance(question, WrittenQuestion)]

SEEDS = {
    "Which phase determines Time to First Token (TTFT)?": "choice",
    "Why is LLM decode memory-bound rather than compute-bound?": "choice",
    "Prefill is compute-bound and decode is memory-bound. "
    "Why can't we just add more GPUs to speed up decode?": "written",
}

GOOD = """
- id: sky
  kind: choice
  prompt: What colour is the sky?
  idea: light
  choices:
    - {id: blue, text: Blue, is_correct: true, feedback: By day.}
    - {id: red, text: Red, is_correct: false, feedback: At dusk.}
"""


def load(folder: Path, text: str) -> None:
    (folder / "test.yaml").write_text(text, encoding="utf-8")
    load_questions(folder)


def test_the_seeds_questions_are_asked_as_worded_there() -> None:
    asked = {question.prompt: question.kind for question in QUESTIONS}
    assert {prompt: asked.get(prompt) for prompt in SEEDS} == SEEDS


def test_every_choice_gets_its_own_feedback_and_one_is_right() -> None:
    for question in CHOICE:
        grades = [question.grade(choice.id) for choice in question.choices]
        feedback = [grade.feedback for grade in grades]
        assert feedback == [filled(choice.feedback) for choice in question.choices], question.id
        assert len(set(feedback)) == len(grades), question.id
        assert [grade.is_correct for grade in grades].count(True) == 1, question.id


def test_the_right_answers_are_prefill_and_bytes_per_step() -> None:
    right = {q.id: c.id for q in CHOICE for c in q.choices if q.grade(c.id).is_correct}
    assert right["which-phase-ttft"] == "prefill"
    assert right["why-decode-memory-bound"] == "bytes-per-step"


def test_a_seed_fixes_the_order_of_the_choices_and_loses_none() -> None:
    for question in CHOICE:
        orders = [question.asked(str(seed)).options for seed in range(80)]
        assert orders == [question.asked(str(seed)).options for seed in range(80)], question.id
        texts = {(choice.id, choice.text) for choice in question.choices}
        assert all({(option.id, option.text) for option in order} == texts for order in orders), question.id
        firsts = {order[0].id for order in orders}
        assert len(firsts) == len(question.choices), f"{question.id}: every choice comes first for some seed"


def test_the_order_is_the_same_in_every_process() -> None:
    question = next(question for question in CHOICE if question.id == "which-phase-ttft")
    assert [option.id for option in question.asked("a").options] == ["both", "tokenising", "decode", "prefill"]


def test_before_an_answer_the_browser_gets_the_prompt_and_the_options_only() -> None:
    for question in QUESTIONS:
        sent = asdict(question.asked("a"))
        assert set(sent) == {"id", "kind", "prompt", "options", "unit"}, question.id
        assert all(set(option) == {"id", "text"} for option in sent["options"]), question.id
        assert not any(secret in str(sent) for secret in secrets_of(question.model_dump())), question.id


def test_a_written_answer_is_compared_with_the_rubric_and_judged_by_the_learner() -> None:
    (question,) = [question for question in WRITTEN if question.id == "more-gpus-for-decode"]
    grade = question.grade("Copies add throughput. TENSOR-parallel decode is faster, but (all‑reduce) costs.")
    assert grade.is_correct is None
    assert "keywords" in grade.feedback
    assert [point.is_mentioned for point in grade.points] == [True, False, True, True, False]
    assert grade.model_answer == filled(question.model_answer)


def test_a_model_answer_mentions_every_point_of_its_rubric() -> None:
    for question in WRITTEN:
        points = question.grade(question.model_answer).points
        assert [point.text for point in points if point.is_mentioned is False] == [], question.id


def test_a_keyword_counts_only_where_a_word_starts() -> None:
    point = Point(text="Sharding", accepts=("shard",))
    assert point.check("sharding helps").is_mentioned is True
    assert point.check("a mishard pun").is_mentioned is False


def test_a_point_without_keywords_is_left_to_the_learner() -> None:
    assert Point(text="A thought").check("anything").is_mentioned is None


@pytest.mark.parametrize("given", ["purple", "", None, 3, ["prefill"]])
def test_a_choice_that_is_not_offered_is_refused_with_those_that_are(given: object) -> None:
    with pytest.raises(ValueError, match=r"offers no choice .* prefill, decode, both, tokenising"):
        next(question for question in CHOICE if question.id == "which-phase-ttft").grade(given)


@pytest.mark.parametrize("given", ["", " \n\t", None])
def test_a_blank_written_answer_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"is blank.*write at least a sentence"):
        WRITTEN[0].grade(given)


def test_a_written_answer_may_fill_the_limit_and_no_more() -> None:
    WRITTEN[0].grade("a" * MAX_ANSWER_CHARS)
    with pytest.raises(ValueError, match=r"at most 4,000 characters, got 4,001; shorten"):
        WRITTEN[0].grade("a" * (MAX_ANSWER_CHARS + 1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "feedback: At dusk.",
            "feedback: At dusk., hint: Look up",
            r"test\.yaml:8: question 'sky', key choices\.1\.hint: Extra",
        ),
        ("kind: choice", "kind: choice\n  level: 3", r"test\.yaml:4: question 'sky', key level: Extra"),
        ("kind: choice", "kind: riddle", r"question 'sky': .*'riddle'.*'choice', 'multiple'"),
        (
            "is_correct: false",
            "is_correct: true",
            "question 'sky': .*exactly one choice must have is_correct: true, got 2",
        ),
        ("is_correct: true", "is_correct: false", "question 'sky': .*exactly one .* got 0"),
        (
            "feedback: At dusk.",
            "feedback: By day.",
            "every choice needs its own feedback, got 'By day.' 2 times",
        ),
        ("id: red", "id: blue", "every choice needs its own id, got 'blue' 2 times"),
        (", feedback: At dusk.", "", r"question 'sky', key choices\.1\.feedback: Field required"),
        ("text: Red", 'text: " "', r"question 'sky', key choices\.1\.text: .*at least 1 character"),
        ("- id: sky\n ", "-", r"question 'number 1', key id: Field required"),
    ],
)
def test_a_mistake_in_a_file_is_named_by_file_question_and_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in GOOD
    with pytest.raises(ContentError, match=said):
        load(tmp_path, GOOD.replace(old, new))


@pytest.mark.parametrize(("text", "said"), [("a: 1", "must be a list"), ("- a\n b: [", "not YAML")])
def test_a_file_that_is_no_list_of_questions_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ContentError, match=said):
        load(tmp_path, text)


def test_an_id_is_used_once_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ContentError, match=r"'sky' is already in .*first\.yaml; rename one"):
        load(tmp_path, GOOD)
