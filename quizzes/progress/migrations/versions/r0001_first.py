"""Learners with their answers, predictions and reviews; classes with their members."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _learner(*, is_key: bool) -> sa.Column[str]:
    key = sa.ForeignKey("learner.key", ondelete="CASCADE")
    return sa.Column("learner", sa.String, key, nullable=False, primary_key=is_key)


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "learner",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("lesson", sa.String),
        sa.Column("section", sa.String),
        sa.Column("created_at", moment, nullable=False),
    )
    op.create_table(
        "answer",
        sa.Column("id", sa.Integer, primary_key=True),
        _learner(is_key=False),
        sa.Column("submission", sa.String, nullable=False),
        sa.Column("question", sa.String, nullable=False),
        sa.Column("idea", sa.String, nullable=False),
        sa.Column("given", sa.String, nullable=False),
        sa.Column("is_correct", sa.Boolean),
        sa.Column("answered_at", moment, nullable=False),
        sa.UniqueConstraint("learner", "submission"),
    )
    op.create_index("answer_newest", "answer", ["learner", "question", "id"])
    op.create_table(
        "prediction",
        _learner(is_key=True),
        sa.Column("prediction", sa.String, primary_key=True),
        sa.Column("given", sa.String, nullable=False),
        sa.Column("predicted_at", moment, nullable=False),
    )
    op.create_table(
        "review",
        _learner(is_key=True),
        sa.Column("question", sa.String, primary_key=True),
        sa.Column("card", sa.String, nullable=False),
        sa.Column("due", moment, nullable=False),
        sa.Column("stability", sa.Float, nullable=False),
    )
    op.create_table(
        "class",
        sa.Column("code", sa.String, primary_key=True),
        sa.Column("settings", sa.String, nullable=False),
        sa.Column("created_at", moment, nullable=False),
    )
    op.create_table(
        "member",
        sa.Column("code", sa.String, sa.ForeignKey("class.code", ondelete="CASCADE"), primary_key=True),
        _learner(is_key=True),
        sa.Column("nickname", sa.String, nullable=False),
        sa.Column("joined_at", moment, nullable=False),
    )
    op.create_index("member_learner", "member", ["learner"])
