"""A key that is wrong and whole is found, with its place."""

from pathlib import Path

import pytest

import quizzes
from tests.lessons.answer_key import key_problems, read_key

QUIZ = quizzes.FOLDER / "two_phases.yaml"


def problems_after(change: tuple[str, str], folder: Path) -> list[str]:
    """Of the quiz after every `before` became `after`, in a folder of its own."""
    before, after = change
    text = QUIZ.read_text(encoding="utf-8")
    assert before in text
    path = folder / QUIZ.name
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    found, unread = quizzes.open_quizzes(folder)
    assert not unread
    return [str(one) for one in key_problems(path, found[path.stem], read_key())]


def swapped() -> tuple[str, str]:
    """The first question with its first choice marked wrong and its second one right."""
    text = QUIZ.read_text(encoding="utf-8")
    first = text.index("is_correct: true")
    second = text.index("is_correct: false", first)
    before = text[first : second + len("is_correct: false")]
    middle = before.removeprefix("is_correct: true").removesuffix("is_correct: false")
    return before, f"is_correct: false{middle}is_correct: true"


def test_the_quiz_as_it_is_has_no_problem(tmp_path: Path) -> None:
    assert problems_after(("is_correct: true", "is_correct: true"), tmp_path) == []


def test_a_wrong_choice_marked_right_is_named_with_its_place(tmp_path: Path) -> None:
    (problem,) = problems_after(swapped(), tmp_path)
    assert problem.startswith(f"{tmp_path / QUIZ.name}:1: question 'which-phase-ttft': its key says 'decode'")
    assert "'prefill' is written down" in problem


def test_a_question_without_a_written_answer_is_named(tmp_path: Path) -> None:
    (problem,) = problems_after(("id: which-phase-ttft", "id: which-phase-of-two"), tmp_path)
    assert "no answer is written down" in problem


@pytest.mark.parametrize("kind", ["choice", "multiple", "order", "term", "number", "predict"])
def test_every_kind_with_a_key_is_written_down(kind: str) -> None:
    everything, _ = quizzes.open_quizzes(quizzes.FOLDER)
    ids = {one.id for questions in everything.values() for one in questions if one.kind == kind}
    assert ids
    assert ids <= read_key().keys()
