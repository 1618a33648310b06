"""What a class answered, per question and per idea: counts, and never who it was."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.arithmetic.units import significant
from inference.run.trace_io import harmless_cell
from quizzes import (
    ChoiceQuestion,
    MultipleQuestion,
    NumberQuestion,
    OrderQuestion,
    PredictQuestion,
    Question,
)
from quizzes.progress.progress import ClassAnswer


@dataclass(frozen=True, slots=True)
class Given:
    """One answer, or one option, and how many gave it."""

    text: str
    is_ours: bool
    """A choice of the question's; otherwise a learner gave it, and it is never markup."""
    num_learners: int
    is_right: bool | None
    """Whether it is, or belongs to, the right answer; None: the learner judges."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    question: Question
    num_answered: int
    num_right: int
    num_wrong: int
    given: tuple[Given, ...]
    """Options in the order of the quiz; free answers, most frequent first."""


@dataclass(frozen=True, slots=True)
class IdeaResult:
    """The newest graded answers to all questions about one idea."""

    num_right: int
    num_wrong: int


def question_results(answers: Sequence[ClassAnswer], questions: Iterable[Question]) -> list[QuestionResult]:
    """One per question, whether or not anybody answered it."""
    return [_result(question, [row for row in answers if row.question_id == question.id]) for question in questions]


def idea_results(results: Iterable[QuestionResult]) -> dict[str, IdeaResult]:
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    ideas: dict[str, None] = {}
    for result in results:
        ideas[result.question.idea] = None
        right[result.question.idea] += result.num_right
        wrong[result.question.idea] += result.num_wrong
    return {idea: IdeaResult(right[idea], wrong[idea]) for idea in ideas}


def answer_key(question: Question) -> str:
    """The right answer, from what grades it; empty where each learner's own run decides."""
    match question:
        case PredictQuestion():
            return ""
        case NumberQuestion():
            number, _, unit = question.right().partition(" ")
            return f"{significant(float(number))} {unit}".strip()
        case ChoiceQuestion() | MultipleQuestion() | OrderQuestion():
            return _words(question, question.right())
        case _:
            return question.right()


def to_csv(results: Mapping[str, Sequence[QuestionResult]]) -> str:
    """By lesson: one line per question and answer. No cell is run as a formula by a spreadsheet."""
    file = io.StringIO()
    write = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    write.writerow(["lesson", "question", "idea", "prompt", "right answer", "answer", "is right", "learners"])
    for lesson, lesson_results in results.items():
        for result in lesson_results:
            question = result.question
            start = [lesson, question.id, question.idea, question.spoken_prompt, answer_key(question)]
            for answer in result.given:
                verdict = {True: "yes", False: "no", None: "not judged"}[answer.is_right]
                cells = map(harmless_cell, [*start, answer.text, verdict])
                write.writerow([*cells, answer.num_learners])
    return file.getvalue()


def _result(question: Question, answers: Sequence[ClassAnswer]) -> QuestionResult:
    verdicts = Counter(row.answer.is_correct for row in answers)
    return QuestionResult(question, len(answers), verdicts[True], verdicts[False], tuple(_given(question, answers)))


def _given(question: Question, answers: Sequence[ClassAnswer]) -> list[Given]:
    match question:
        case ChoiceQuestion() | MultipleQuestion():
            chosen = Counter(part for row in answers for part in row.answer.given.split(","))
            right = question.right().split(",")
            texts = {option.id: option.text for option in question.asked("").options}
            return [
                Given(texts[choice.id], is_ours=True, num_learners=chosen[choice.id], is_right=choice.id in right)
                for choice in question.choices
            ]
        case _:
            counts = Counter((row.answer.given.strip(), row.answer.is_correct) for row in answers)
            return [
                Given(_words(question, text), is_ours=False, num_learners=count, is_right=is_right)
                for (text, is_right), count in counts.most_common()
            ]


def _words(question: Question, answer: str) -> str:
    """An answer as it reads: the texts in place of the ids of options."""
    texts = {option.id: option.text for option in question.asked("").options}
    if not texts:
        return answer
    between = ", then " if isinstance(question, OrderQuestion) else "; "
    return between.join(texts.get(part, part) for part in answer.split(","))
