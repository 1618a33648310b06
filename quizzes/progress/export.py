"""All that is stored about one learner, for the learner."""

import json

from sqlalchemy import Connection, select

from quizzes.progress.tables import answer, learner, member, prediction, review


def exported(connection: Connection, key: str) -> str:
    """JSON with one list per table, every column by its name; times in UTC. An unknown key: empty lists."""
    own = (
        select(learner).where(learner.c.key == key),
        select(answer).where(answer.c.learner == key).order_by(answer.c.id),
        select(prediction).where(prediction.c.learner == key).order_by(prediction.c.predicted_at),
        select(review).where(review.c.learner == key).order_by(review.c.due),
        select(member).where(member.c.learner == key).order_by(member.c.joined_at),
    )
    names = ("learner", "answers", "predictions", "reviews", "classes")
    tables = {
        name: [dict(row._mapping) for row in connection.execute(rows)]
        for name, rows in zip(names, own, strict=True)
    }
    return json.dumps({"format": "two-phases progress 1"} | tables, indent=2, ensure_ascii=False, default=str)
