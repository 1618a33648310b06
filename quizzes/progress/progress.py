"""What learners answered, predicted and are due to review: in SQLite, or in PostgreSQL by DATABASE_URL."""

from datetime import UTC, datetime

from sqlalchemy import delete, select

from quizzes import MAX_ANSWER_CHARS
from quizzes.progress.classes import Classes
from quizzes.progress.database import Database
from quizzes.progress.export import exported
from quizzes.progress.records import (
    MAX_ID_CHARS,
    MAX_NICKNAME_CHARS,
    Class,
    ClassAnswer,
    Mastery,
    ProgressError,
    Remains,
    Saved,
    Settings,
    StoredAnswer,
    check_id,
    check_key,
    check_text,
    is_code,
    is_key,
    new_key,
)
from quizzes.progress.reviews import keep_review, mastery
from quizzes.progress.tables import (
    answer,
    hold_learner,
    insert_into,
    learner,
    newest_answers,
    prediction,
    put,
    review,
    stored,
)

__all__ = [
    "MAX_NICKNAME_CHARS",
    "Class",
    "ClassAnswer",
    "Mastery",
    "Progress",
    "ProgressError",
    "Remains",
    "Saved",
    "Settings",
    "StoredAnswer",
    "is_code",
    "is_key",
]


class Progress(Classes):
    """One per server, for any number of threads. Every method may raise ProgressError; the next call starts afresh.

    Reading with a key that nobody has, or that is none, finds nothing; writing with one that is none is refused.
    """

    def __init__(self, url: str | None = None, *, wait_s: float = 5.0) -> None:
        """None: DATABASE_URL, or a file in the user's data folder. wait_s: for a lock or a server, in seconds.

        Opens nothing yet: a database that is away when the server starts is found when it is back.
        """
        super().__init__(Database(url, wait_s=wait_s))

    def close(self) -> None:
        self._database.close()

    def new_key(self) -> str:
        """Nothing is stored for it before the learner's first answer."""
        return new_key()

    def answer(
        self,
        key: str,
        question_id: str,
        given: str,
        *,
        is_correct: bool | None,
        idea: str,
        submission: str,
        at: datetime | None = None,
    ) -> Saved:
        """Keep an answer and schedule its review. When this returns, no crash loses it.

        submission: the client's own name for this act of answering. The same one again stores nothing and returns
        what is stored under it.
        """
        at = (at or datetime.now(UTC)).astimezone(UTC)
        row = {
            "learner": check_key(key),
            "submission": check_id("submission", submission),
            "question": check_id("question", question_id),
            "idea": check_id("idea", idea),
            "given": check_text("answer", given, MAX_ANSWER_CHARS),
            "is_correct": is_correct,
            "answered_at": at,
        }
        with self._database.writing() as connection:
            hold_learner(connection, key, at)
            insert = insert_into(connection, answer).values(row)
            insert = insert.on_conflict_do_nothing(index_elements=["learner", "submission"])
            is_new = connection.execute(insert.returning(answer.c.id)).first() is not None
            if is_new and is_correct is not None:
                keep_review(connection, key, question_id, is_correct=is_correct, at=at)
            same = (answer.c.learner == key) & (answer.c.submission == submission)
            kept = connection.execute(select(answer).where(same)).one()
        return Saved(kept.question, stored(kept), is_new)

    def answers(self, key: str) -> dict[str, StoredAnswer]:
        """The newest answer to each question, by question, oldest first."""
        if not is_key(key):
            return {}
        with self._database.reading() as connection:
            rows = connection.execute(newest_answers(answer.c.learner == key)).all()
        return {row.question: stored(row) for row in rows}

    def predict(self, key: str, prediction_id: str, given: str) -> None:
        """Keep a prediction; a later one takes its place."""
        at = datetime.now(UTC)
        row = {"learner": check_key(key), "prediction": check_id("prediction", prediction_id)}
        kept = {"given": check_text("prediction", given, MAX_ANSWER_CHARS), "predicted_at": at}
        with self._database.writing() as connection:
            hold_learner(connection, key, at)
            put(connection, prediction, row, kept)

    def predictions(self, key: str) -> dict[str, str]:
        if not is_key(key):
            return {}
        with self._database.reading() as connection:
            rows = connection.execute(select(prediction).where(prediction.c.learner == key)).all()
        return {row.prediction: row.given for row in rows}

    def mastery(self, key: str) -> dict[str, Mastery]:
        """Per idea, of the questions that were graded at all."""
        if not is_key(key):
            return {}
        with self._database.reading() as connection:
            return mastery(connection, key)

    def due(self, key: str, now: datetime) -> list[str]:
        """The questions up for review, most overdue first."""
        if not is_key(key):
            return []
        waiting = select(review.c.question).where(review.c.learner == key, review.c.due <= now)
        with self._database.reading() as connection:
            return list(connection.scalars(waiting.order_by(review.c.due, review.c.question)))

    def place(self, key: str, lesson_id: str, section: str) -> None:
        """Remember where the learner is; the newest place counts."""
        check_key(key)
        where = {"lesson": check_id("lesson", lesson_id), "section": check_text("section", section, MAX_ID_CHARS)}
        with self._database.writing() as connection:
            hold_learner(connection, key, datetime.now(UTC), **where)

    def resume(self, key: str) -> tuple[str, str] | None:
        """The lesson and section of the newest place()."""
        if not is_key(key):
            return None
        with self._database.reading() as connection:
            row = connection.execute(select(learner).where(learner.c.key == key)).one_or_none()
        return None if row is None or row.lesson is None else (row.lesson, row.section)

    def export(self, key: str) -> str:
        """Everything that is stored about a learner, as JSON: all answers, not only the newest."""
        with self._database.reading() as connection:
            return exported(connection, key if is_key(key) else "")

    def delete(self, key: str) -> Remains:
        """Forget a learner: answers, predictions, reviews, place and seats in classes. Says what may hold it still.

        Twice is no error: the second time takes away what something else held on to.
        """
        if not is_key(key):
            return "nothing"
        with self._database.writing() as connection:
            connection.execute(delete(learner).where(learner.c.key == key))
        try:
            return self._database.erase()
        except ProgressError:  # the rows are gone all the same
            return "log"
