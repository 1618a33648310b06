"""What an author must get right, checked file by file: every problem at once, with file and line."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lessons.checking.early import early_uses, introductions
from lessons.checking.typed import typed_numbers, unwanted_words
from lessons.reading.content import Ask, Lesson, Place, Section, Takeaway, Term
from lessons.reading.glossary import read_glossary
from lessons.reading.parse import read_lesson
from lessons.reading.written import problems_in, terms_in, without_marks
from quizzes import Problem, Question, open_quizzes

WORDS_PER_MINUTE = 200
EXPERIMENT_MINUTES, QUESTION_MINUTES = 1.0, 0.5
TOLERANCE = 0.25
FEWEST_EXPERIMENTS, FEWEST_QUESTIONS = 1, 3
OPENINGS = ("predict", "choice")
"""Kinds of question a lesson may open with."""
SHARED_QUIZZES = ("two_phases",)
"""Asked in labs, and in any lesson beside its own."""

ExperimentProblem = Callable[[str, str], str]
"""What is wrong with an experiment's name and settings; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class ContentFolders:
    """The two content folders, with what the files refer to."""

    lessons: Path
    quizzes: Path
    glossary: Mapping[str, Term]
    questions: Mapping[str, Sequence[Question]]
    """Per quiz."""
    quiz_problems: Sequence[Problem]
    experiment_problem: ExperimentProblem
    introduced: Mapping[str, int]
    """The number of the lesson that first defines a term."""

    @classmethod
    def of(cls, lessons: Path, quizzes: Path, experiment_problem: ExperimentProblem) -> "ContentFolders":
        glossary, _ = read_glossary(lessons / "glossary.yaml")
        questions, problems = open_quizzes(quizzes)
        readable = [lesson for path in sorted(lessons.glob("*.md")) if (lesson := read_lesson(path)[0])]
        return cls(lessons, quizzes, glossary, questions, problems, experiment_problem, introductions(readable))


def check_lesson(path: Path, course: ContentFolders) -> list[Problem]:
    """Everything wrong with one lesson, by line."""
    lesson, problems = read_lesson(path)
    if lesson is None:
        return problems
    rules = (_opening, _sections, _amounts, _questions, _experiments, _terms, _early, _wording, _minutes)
    for rule in rules:
        problems += [Problem(path, line, words) for line, words in rule(lesson, course)]
    return sorted(problems, key=lambda problem: problem.line)


Found = Iterator[tuple[int, str]]


def _opening(lesson: Lesson, course: ContentFolders) -> Found:
    first = lesson.parts[0] if lesson.parts else None
    if not isinstance(first, Ask):
        yield first.line if first else 1, "a lesson opens with a question to predict: `:::question id` comes first"
        return
    kinds = {question.id: question.kind for question in course.questions.get(lesson.quiz, ())}
    kind = kinds.get(first.question)
    if kind is not None and kind not in OPENINGS:
        yield first.line, f"the opening question is of kind {kind!r}; open with {' or '.join(OPENINGS)}"


def _sections(lesson: Lesson, course: ContentFolders) -> Found:
    if not lesson.sections:
        yield 1, "a lesson has sections: ## and a title"
    for section in lesson.sections:
        yield from _takeaways(section)
    titles = Counter(section.title for section in lesson.sections)
    for section in lesson.sections:
        if titles[section.title] > 1:
            yield section.line, f"two sections are called {section.title!r}; rename one"


def _takeaways(section: Section) -> Found:
    takeaways = [part for part in section.parts if isinstance(part, Takeaway)]
    if not section.parts or not isinstance(section.parts[-1], Takeaway):
        yield section.line, f"section {section.title!r} does not end with a takeaway: > **Takeaway.** One line."
    for extra in takeaways[:-1]:
        yield extra.line, "a section has one takeaway, at its end"


def _amounts(lesson: Lesson, course: ContentFolders) -> Found:
    num_experiments, num_questions = len(list(lesson.all_of(Place))), len(lesson.questions)
    if num_experiments < FEWEST_EXPERIMENTS:
        yield 1, f"a lesson has at least {FEWEST_EXPERIMENTS} experiment, this one has {num_experiments}"
    if num_questions < FEWEST_QUESTIONS:
        yield 1, f"a lesson has at least {FEWEST_QUESTIONS} questions, this one has {num_questions}"


def _questions(lesson: Lesson, course: ContentFolders) -> Found:
    if lesson.quiz not in course.questions:
        yield lesson.lines["quiz"], f"there is no quizzes/{lesson.quiz}.yaml"
        return
    known = {question.id for quiz in (lesson.quiz, *SHARED_QUIZZES) for question in course.questions.get(quiz, ())}
    counts = Counter(lesson.questions)
    for ask in lesson.all_of(Ask):
        if ask.question not in known:
            yield ask.line, f"no question {ask.question!r} in quizzes/{lesson.quiz}.yaml"
        elif counts[ask.question] > 1:
            yield ask.line, f"question {ask.question!r} is asked {counts[ask.question]} times; ask it once"
    for unasked in course.questions[lesson.quiz]:
        if unasked.id not in counts:
            yield lesson.lines["quiz"], f"question {unasked.id!r} of quizzes/{lesson.quiz}.yaml is not asked here"


def _experiments(lesson: Lesson, course: ContentFolders) -> Found:
    for place in lesson.all_of(Place):
        if problem := course.experiment_problem(place.name, place.settings):
            yield place.line, problem


def _terms(lesson: Lesson, course: ContentFolders) -> Found:
    marked = terms_in(lesson)
    for term in lesson.terms:
        if term not in course.glossary:
            yield lesson.lines["terms"], f"no term {term!r} in lessons/glossary.yaml"
        elif term not in marked:
            yield lesson.lines["terms"], f"term {term!r} is never marked in the text: write [[{term}]]"
    for term in sorted(set(marked) - set(lesson.terms) - course.introduced.keys()):
        yield lesson.lines["terms"], f"term {term!r} is marked in the text but not listed in `terms`"


def _early(lesson: Lesson, course: ContentFolders) -> Found:
    asked = [question for quiz in (lesson.quiz, *SHARED_QUIZZES) for question in course.questions.get(quiz, ())]
    yield from early_uses(lesson, course.introduced, course.glossary, asked)


def _wording(lesson: Lesson, course: ContentFolders) -> Found:
    yield from (
        (lesson.lines[key], words)
        for key, lines in (("title", [lesson.title]), ("summary", [lesson.summary]), ("can", lesson.can))
        for text in lines
        for _, words in (*typed_numbers(text), *unwanted_words(text, course.glossary))
    )
    for part in lesson.texts:
        problems = [*problems_in(part.markdown, course.glossary), *typed_numbers(part.markdown)]
        problems += unwanted_words(part.markdown, course.glossary)
        yield from ((part.line + line, words) for line, words in problems)


def _minutes(lesson: Lesson, course: ContentFolders) -> Found:
    """Reading time against what the lesson promises."""
    texts = [part.markdown for part in lesson.texts]
    num_words = sum(len(without_marks(text).split()) for text in texts)
    takes = num_words / WORDS_PER_MINUTE + QUESTION_MINUTES * len(lesson.questions)
    takes += EXPERIMENT_MINUTES * len(list(lesson.all_of(Place)))
    if abs(takes - lesson.minutes) > TOLERANCE * lesson.minutes:
        yield (
            lesson.lines["minutes"],
            f"minutes: {lesson.minutes}, but {num_words} words, {len(lesson.questions)} questions and the "
            f"experiments take about {takes:.1f}; change one of them",
        )
