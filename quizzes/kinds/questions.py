"""The kinds of question. Each has id, kind, prompt, idea, asked(seed), grade(given), right() and wrong()."""

from typing import Annotated, TypeAlias

from pydantic import Field

from quizzes.kinds.chosen import ChoiceQuestion, MultipleQuestion, OrderQuestion
from quizzes.kinds.numeric import NumberQuestion, PredictQuestion
from quizzes.kinds.worded import MAX_ANSWER_CHARS, TermQuestion, WrittenQuestion

__all__ = ["MAX_ANSWER_CHARS", "Question"]

Question: TypeAlias = Annotated[
    ChoiceQuestion
    | MultipleQuestion
    | NumberQuestion
    | OrderQuestion
    | TermQuestion
    | WrittenQuestion
    | PredictQuestion,
    Field(discriminator="kind"),
]
"""A new kind joins here, and in `pages/ui/questions/`. `predict` takes the learner's trace beside the answer."""
