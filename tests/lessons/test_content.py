"""The validator: one test per content file. An author sees all problems of a file at once, with file and line."""

from pathlib import Path

import pytest

import lessons
import quizzes
from lessons.checking.check import ContentFolders, check_lesson
from lessons.checking.check_files import check_folders, check_glossary, check_quiz
from pages.ui.course.placed import settings_of
from tests.lessons.answer_key import key_problems, read_key

ROOT = Path(lessons.__file__).parents[1]
LESSONS = sorted(lessons.FOLDER.glob("*.md"))
QUIZZES = sorted(quizzes.FOLDER.glob("*.yaml"))


def _experiment_problem(name: str, spelled: str) -> str:
    try:
        settings_of(name, spelled)
    except ValueError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def course() -> ContentFolders:
    return ContentFolders.of(lessons.FOLDER, quizzes.FOLDER, _experiment_problem)


def _none(problems: list[quizzes.Problem]) -> None:
    if problems:
        pytest.fail("\n".join(str(one).replace(f"{ROOT}/", "") for one in problems), pytrace=False)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_lesson(path: Path, course: ContentFolders) -> None:
    _none(check_lesson(path, course))


@pytest.mark.parametrize("path", QUIZZES, ids=lambda path: path.name)
def test_quiz(path: Path, course: ContentFolders) -> None:
    _none(check_quiz(path, course))


@pytest.mark.parametrize("path", QUIZZES, ids=lambda path: path.name)
def test_key(path: Path, course: ContentFolders) -> None:
    _none(key_problems(path, course.questions[path.stem], read_key()))


def test_no_answer_is_kept_of_a_question_that_is_gone(course: ContentFolders) -> None:
    assert read_key().keys() <= {one.id for questions in course.questions.values() for one in questions}


def test_glossary(course: ContentFolders) -> None:
    _none(check_glossary(course))


def test_no_file_is_stray_and_no_number_missing(course: ContentFolders) -> None:
    _none(check_folders(course))
