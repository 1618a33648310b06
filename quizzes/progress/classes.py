"""Assignments, who joined them under which nickname, and what they answered: never with a learner's key."""

import json
from datetime import UTC, datetime

from pydantic import TypeAdapter
from sqlalchemy import delete, func, select

from quizzes.progress.database import Database
from quizzes.progress.records import (
    MAX_NICKNAME_CHARS,
    MAX_SETTINGS_CHARS,
    Class,
    ClassAnswer,
    ProgressError,
    Settings,
    check_key,
    check_line,
    is_code,
    new_code,
    unknown_class,
)
from quizzes.progress.tables import answer, hold_learner, insert_into, member, newest_answers, school_class, stored

_SETTINGS: TypeAdapter[Settings] = TypeAdapter(Settings)


class Classes:
    """The part of Progress that a teacher uses. Who may call it is the page's business."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def new_class(self, settings: Settings) -> str:
        """Keep an assignment; the code is what its link carries."""
        written = json.dumps(settings)  # ASCII: no character that a database refuses
        if len(written) > MAX_SETTINGS_CHARS:
            raise ProgressError(
                f"The settings of a class have at most {MAX_SETTINGS_CHARS:,} characters, got {len(written):,}. "
                "Choose fewer lessons. Nothing was saved."
            )
        code = new_code()
        with self._database.writing() as connection:
            row = school_class.insert().values(code=code, settings=written, created_at=datetime.now(UTC))
            connection.execute(row)
        return code

    def classes(self) -> list[Class]:
        """Every class, newest first."""
        num_members = select(func.count()).where(member.c.code == school_class.c.code).scalar_subquery()
        every = select(school_class, num_members.label("num_members"))
        with self._database.reading() as connection:
            rows = connection.execute(every.order_by(school_class.c.created_at.desc())).all()
        return [
            Class(row.code, _SETTINGS.validate_json(row.settings), row.created_at, row.num_members) for row in rows
        ]

    def class_settings(self, code: str) -> Settings | None:
        """What new_class was given; None if there is no such class."""
        if not is_code(code):
            return None
        with self._database.reading() as connection:
            settings = connection.scalar(select(school_class.c.settings).where(school_class.c.code == code))
        return None if settings is None else _SETTINGS.validate_json(settings)

    def delete_class(self, code: str) -> None:
        """Forget a class and who joined it; what its members answered stays theirs."""
        if is_code(code):
            with self._database.writing() as connection:
                connection.execute(delete(school_class).where(school_class.c.code == code))

    def join(self, code: str, key: str, nickname: str) -> None:
        """Let a class see a learner's answers under a nickname, which may be empty. Again: change the nickname."""
        check_key(key)
        check_line("nickname", nickname, MAX_NICKNAME_CHARS)
        if not is_code(code):
            raise unknown_class(code)
        at = datetime.now(UTC)
        with self._database.writing() as connection:
            if connection.scalar(select(school_class.c.code).where(school_class.c.code == code)) is None:
                raise unknown_class(code)
            hold_learner(connection, key, at)
            row = insert_into(connection, member)
            row = row.values(code=code, learner=key, nickname=nickname, joined_at=at)
            here = ["code", "learner"]
            connection.execute(row.on_conflict_do_update(index_elements=here, set_={"nickname": nickname}))

    def members(self, code: str) -> list[str]:
        """The nicknames of all who joined, in that order; an empty one for each who gave none."""
        if not is_code(code):
            return []
        names = select(member.c.nickname).where(member.c.code == code)
        with self._database.reading() as connection:
            return list(connection.scalars(names.order_by(member.c.joined_at, member.c.learner)))

    def results(self, code: str) -> list[ClassAnswer]:
        """The newest answer of each member to each question, member by member, oldest first; without keys."""
        if not is_code(code):
            return []
        members = select(member.c.learner, member.c.nickname).where(member.c.code == code)
        theirs = newest_answers(answer.c.learner.in_(select(member.c.learner).where(member.c.code == code)))
        with self._database.reading() as connection:
            joined = connection.execute(members.order_by(member.c.joined_at, member.c.learner)).all()
            rows = connection.execute(theirs).all()
        return [
            ClassAnswer(number, who.nickname, row.question, stored(row))
            for number, who in enumerate(joined, start=1)
            for row in rows
            if row.learner == who.learner
        ]
