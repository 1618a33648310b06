"""What reaches the browser before an answer: everything a page sends, searched for every key of the course."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.state import quizzes
from tests.quizzes.secrets_of import secrets_of

pytestmark = pytest.mark.slow
LONG_ENOUGH = 12  # characters; a fact's name or a term may be a word of the prompt


def page(quiz: str) -> None:
    # AppTest runs this source alone
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.questions.answers import ask  # noqa: PLC0415

    for question in state.quizzes()[0][quiz]:
        ask(question)


def sent(app: AppTest) -> bytes:
    """Every message of the page."""
    return b"\n".join(one.proto.SerializeToString() for one in app.main if getattr(one, "proto", None) is not None)


@pytest.mark.parametrize("quiz", quizzes()[0])
def test_no_page_sends_a_key_before_the_answer(quiz: str, app: AppTest) -> None:
    drawn = AppTest.from_function(page, args=(quiz,), default_timeout=20).run()
    assert not drawn.exception
    messages = sent(drawn)
    questions = quizzes()[0][quiz]
    assert questions[0].asked("").prompt[:30].encode() in messages, "what is sent is what is searched"
    secrets = [secret for question in questions for secret in secrets_of(question.model_dump())]
    assert len(secrets) > len(questions)
    assert [secret for secret in secrets if len(secret) >= LONG_ENOUGH and secret[:40].encode() in messages] == []
    assert b"is_correct" not in messages
