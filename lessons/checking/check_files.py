"""Checks beside those of a lesson: quiz files, the glossary, and files that nobody reads."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from lessons.checking.check import SHARED_QUIZZES, ContentFolders
from lessons.checking.typed import typed_numbers
from lessons.reading.glossary import read_glossary
from lessons.reading.parse import NAME, read_lesson
from lessons.reading.written import problems_in
from quizzes import PredictQuestion, Problem, Question, WrittenQuestion


def check_quiz(path: Path, course: ContentFolders) -> list[Problem]:
    """Everything wrong with one quiz file: its form, its grading, and whether a lesson asks it."""
    problems = [problem for problem in course.quiz_problems if problem.path == path]
    for question in course.questions.get(path.stem, ()):
        problems += [Problem(path, _line_of(path, question.id), words) for words in _grading(question)]
    lessons = [lesson for file in sorted(course.lessons.glob("*.md")) if (lesson := read_lesson(file)[0])]
    if path.stem not in SHARED_QUIZZES and path.stem not in {lesson.quiz for lesson in lessons}:
        problems.append(Problem(path, 0, "no lesson has this quiz; name it in a lesson's `quiz` or delete it"))
    return problems


def _grading(question: Question) -> Iterator[str]:
    """The right answer must be graded right, and each wrong one wrong."""
    if isinstance(question, WrittenQuestion | PredictQuestion):
        return  # the learner is the judge of one, a run of the other
    if question.grade(question.right()).is_correct is not True:
        yield f"question {question.id!r}: its own right answer {question.right()!r} is not graded right"
    for wrong in question.wrong():
        if question.grade(wrong).is_correct is not False:
            yield f"question {question.id!r}: the wrong answer {wrong!r} is not graded wrong"


def _line_of(path: Path, question_id: str) -> int:
    """Where the question's id stands."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if re.fullmatch(rf"\s*-?\s*id:\s*[\"']?{re.escape(question_id)}[\"']?\s*", line):
            return number
    return 0


def check_glossary(course: ContentFolders) -> list[Problem]:
    """Everything wrong with the glossary."""
    path = course.lessons / "glossary.yaml"
    terms, problems = read_glossary(path)
    for term in terms.values():
        line = _line_of(path, term.id)
        problems += [Problem(path, line, words) for _, words in problems_in(term.text, terms)]
        problems += [Problem(path, line, words) for _, words in typed_numbers(term.text)]
    return problems


def check_folders(course: ContentFolders) -> list[Problem]:
    """Files that nothing reads, and lessons that are not numbered 1, 2, 3."""
    problems = [
        Problem(path, 0, "a stray file: lessons are NN_id.md, and beside them there is glossary.yaml only")
        for path in _strays(course.lessons, lambda path: path.suffix == ".md" and bool(NAME.fullmatch(path.stem)))
        if path.name != "glossary.yaml"
    ]
    problems += [
        Problem(path, 0, "a stray file: quizzes are id.yaml")
        for path in _strays(course.quizzes, lambda path: bool(re.fullmatch(r"[a-z0-9_-]+\.yaml", path.name)))
    ]
    files = sorted(path for path in course.lessons.glob("*.md") if NAME.fullmatch(path.stem))
    for expected, path in enumerate(files, 1):
        if int(path.stem[:2]) != expected:
            problems.append(Problem(path, 0, f"lessons are numbered without gaps: {expected:02d} comes next here"))
            break
    return problems


def _strays(folder: Path, is_content: Callable[[Path], bool]) -> list[Path]:
    files = (path for path in sorted(folder.iterdir()) if path.is_file())
    return [path for path in files if path.suffix != ".py" and not is_content(path)]
