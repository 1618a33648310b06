"""When a question comes back: FSRS schedules a review after every graded answer."""

from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from fsrs import Card, Rating, Scheduler
from sqlalchemy import Connection, select

from quizzes.progress.records import Mastery
from quizzes.progress.tables import answer, newest_answers, put, review

# One learning step: what was missed returns the same evening, what was right after days.
# No fuzz: the same answers give the same dates on every server.
_SCHEDULER = Scheduler(learning_steps=(timedelta(minutes=10),), enable_fuzzing=False)


@dataclass(frozen=True, slots=True)
class Review:
    """One question of one learner, after an answer."""

    card: str
    """FSRS's state, as JSON."""
    due: datetime
    stability: float
    """Days until the chance of recall falls to 90 %."""


def reviewed(card: str | None, *, is_correct: bool, at: datetime) -> Review:
    """Right counts as Good, wrong as Again; card None: answered for the first time. `at` in UTC."""
    before = Card.from_json(card) if card else Card(card_id=0, due=at)  # without an id, fsrs sleeps to make one
    after, _ = _SCHEDULER.review_card(before, Rating.Good if is_correct else Rating.Again, at)
    if after.stability is None:
        raise RuntimeError("FSRS left a reviewed card without its stability")
    return Review(after.to_json(), after.due, after.stability)


def keep_review(connection: Connection, key: str, question: str, *, is_correct: bool, at: datetime) -> None:
    """Inside the transaction that keeps the answer, with the learner held."""
    here = (review.c.learner == key) & (review.c.question == question)
    before = connection.scalar(select(review.c.card).where(here))
    after = reviewed(before, is_correct=is_correct, at=at)
    row = {"learner": key, "question": question}
    put(connection, review, row, asdict(after))


def mastery(connection: Connection, key: str) -> dict[str, Mastery]:
    """Per idea, in the order in which they were met: its questions by their newest graded answer."""
    graded = newest_answers((answer.c.learner == key) & answer.c.is_correct.is_not(None))
    newest = graded.subquery()
    both = (review.c.learner == newest.c.learner) & (review.c.question == newest.c.question)
    rows = connection.execute(select(newest, review.c.due, review.c.stability).join(review, both))
    ideas = defaultdict(list)
    for row in sorted(rows, key=lambda row: int(row.id)):
        ideas[str(row.idea)].append(row)
    return {
        idea: Mastery(
            right=sum(row.is_correct for row in questions),
            wrong=sum(not row.is_correct for row in questions),
            due=min(row.due for row in questions),
            stability=min(row.stability for row in questions),
        )
        for idea, questions in ideas.items()
    }
