"""Questions: loaded from the YAML files beside this one and checked before anyone is asked."""

from itertools import chain
from pathlib import Path

from quizzes.kinds.chosen import Choice, ChoiceQuestion, MultipleQuestion, OrderQuestion
from quizzes.kinds.content import Answer, Asked, Grade, Item, Option, PartCheck, PointCheck
from quizzes.kinds.numeric import Mistake, NumberQuestion, PredictQuestion
from quizzes.kinds.questions import Question
from quizzes.kinds.worded import MAX_ANSWER_CHARS, MAX_TERM_CHARS, Point, TermQuestion, WrittenQuestion
from quizzes.reading import ContentError, Problem, read_quizzes, read_rows

__all__ = [
    "MAX_ANSWER_CHARS",
    "MAX_TERM_CHARS",
    "Answer",
    "Asked",
    "Choice",
    "ChoiceQuestion",
    "ContentError",
    "Grade",
    "Item",
    "Mistake",
    "MultipleQuestion",
    "NumberQuestion",
    "Option",
    "OrderQuestion",
    "PartCheck",
    "Point",
    "PointCheck",
    "PredictQuestion",
    "Problem",
    "Question",
    "TermQuestion",
    "WrittenQuestion",
    "load_questions",
    "open_questions",
    "open_quizzes",
    "read_rows",
]

FOLDER = Path(__file__).parent


def load_questions(folder: Path = FOLDER) -> list[Question]:
    """Every question of folder/*.yaml, by file name, then in the order of the file.

    ContentError names every problem there is.
    """
    questions, problems = open_questions(folder)
    if problems:
        raise ContentError("\n".join(map(str, problems)))
    return questions


def open_questions(folder: Path = FOLDER) -> tuple[list[Question], list[Problem]]:
    """What can be asked, and what is wrong with the rest."""
    quizzes, problems = open_quizzes(folder)
    return list(chain.from_iterable(quizzes.values())), problems


def open_quizzes(folder: Path = FOLDER) -> tuple[dict[str, list[Question]], list[Problem]]:
    """The same by quiz: the file's name without its ending."""
    return read_quizzes(folder)
