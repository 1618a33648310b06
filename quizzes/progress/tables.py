"""The tables of the progress database. Nothing in them says who a learner is."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    Select,
    String,
    Table,
    UniqueConstraint,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeDecorator

from quizzes.progress.records import StoredAnswer


class Moment(TypeDecorator[datetime]):
    """A point in time, in UTC both ways; SQLite alone would forget the time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData()


def _learner(*, is_key: bool) -> Column[str]:
    return Column("learner", ForeignKey("learner.key", ondelete="CASCADE"), nullable=False, primary_key=is_key)


learner = Table(
    "learner",
    metadata,
    Column("key", String, primary_key=True),
    Column("lesson", String),
    Column("section", String),
    Column("created_at", Moment, nullable=False),
)

answer = Table(
    "answer",
    metadata,
    Column("id", Integer, primary_key=True),
    _learner(is_key=False),
    Column("submission", String, nullable=False),
    Column("question", String, nullable=False),
    Column("idea", String, nullable=False),
    Column("given", String, nullable=False),
    Column("is_correct", Boolean),
    Column("answered_at", Moment, nullable=False),
    UniqueConstraint("learner", "submission"),
    Index("answer_newest", "learner", "question", "id"),
)

prediction = Table(
    "prediction",
    metadata,
    _learner(is_key=True),
    Column("prediction", String, primary_key=True),
    Column("given", String, nullable=False),
    Column("predicted_at", Moment, nullable=False),
)

review = Table(
    "review",
    metadata,
    _learner(is_key=True),
    Column("question", String, primary_key=True),
    Column("card", String, nullable=False),  # FSRS's own JSON; the next two are copies to search by
    Column("due", Moment, nullable=False),
    Column("stability", Float, nullable=False),
)

school_class = Table(
    "class",
    metadata,
    Column("code", String, primary_key=True),
    Column("settings", String, nullable=False),  # JSON
    Column("created_at", Moment, nullable=False),
)

member = Table(
    "member",
    metadata,
    Column("code", ForeignKey("class.code", ondelete="CASCADE"), primary_key=True),
    _learner(is_key=True),
    Column("nickname", String, nullable=False),
    Column("joined_at", Moment, nullable=False),
)
Index("member_learner", member.c.learner)


def insert_into(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that may end in ON CONFLICT; both databases have it, SQLAlchemy's common one does not."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def put(connection: Connection, table: Table, where: Mapping[str, object], values: Mapping[str, object]) -> None:
    """The row at `where` (its primary key) holds `values` from now on, whether or not it was there."""
    row = insert_into(connection, table).values({**where, **values})
    connection.execute(row.on_conflict_do_update(index_elements=list(where), set_=values))


def hold_learner(connection: Connection, key: str, at: datetime, **place: str) -> None:
    """Make the learner if need be, and keep other writers of the same one out until the transaction ends."""
    row = insert_into(connection, learner).values(key=key, created_at=at, **place)
    connection.execute(row.on_conflict_do_update(index_elements=["key"], set_=place or {"key": key}))


def newest_answers(whose: ColumnElement[bool]) -> Select[tuple[Any, ...]]:
    """The last answer to each question, oldest first, among the answers that `whose` picks."""
    last = select(func.max(answer.c.id)).where(whose).group_by(answer.c.learner, answer.c.question)
    return select(answer).where(answer.c.id.in_(last)).order_by(answer.c.id)


def stored(row: Row[Any]) -> StoredAnswer:
    """A row of `answer` as the rest of the program sees it."""
    return StoredAnswer(row.given, row.is_correct, row.idea, row.answered_at)
