"""The right answers once more, apart from the questions: `python -m tests.lessons.answer_key` writes them down.

A key that is wrong but whole, a wrong choice marked right and the right one marked wrong, looks like any other to a
program. So every change of a key has to be made twice, here and in the quiz.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

import quizzes
from quizzes import Problem, Question

FILE = Path(__file__).with_suffix(".yaml")
_HEAD = """\
# Right answers by question: ids of choices (in the file's order), of things in their order, a term, or what a
# number is computed from.
"""


def key_of(question: Question) -> str:
    """What is right, as the file of answers spells it; empty for a written answer, which its author judges."""
    match question.kind:
        case "choice" | "multiple" | "order" | "term":
            return question.right()
        case "number":
            return question.fact
        case "predict":
            return question.measure
        case _:
            return ""


def read_key() -> dict[str, str]:
    """Answers by question id."""
    key: dict[str, str] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return key


def key_problems(path: Path, questions: Sequence[Question], key: Mapping[str, str]) -> list[Problem]:
    """Every question of one quiz whose right answer is not the one written down."""
    lines = path.read_text(encoding="utf-8").splitlines()
    problems = []
    for question in questions:
        right, kept = key_of(question), key.get(question.id)
        if right and right != kept:
            line = next((n for n, text in enumerate(lines, 1) if text.strip() == f"- id: {question.id}"), 0)
            known = "no answer is written down" if kept is None else f"{kept!r} is written down"
            words = (
                f"question {question.id!r}: its key says {right!r}, and {known} in {FILE.name}; if the quiz is "
                "right, run python -m tests.lessons.answer_key and look at what it changes"
            )
            problems.append(Problem(path, line, words))
    return problems


if __name__ == "__main__":
    everything, _ = quizzes.open_quizzes(quizzes.FOLDER)
    answers = {one.id: key_of(one) for questions in everything.values() for one in questions if key_of(one)}
    FILE.write_text(_HEAD + yaml.safe_dump(answers, sort_keys=True), encoding="utf-8")
