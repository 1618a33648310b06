"""What an answer gets back: right or not, why, and part by part. Feedback is ours and may hold Markdown."""

import streamlit as st

from quizzes import Answer, Grade, PointCheck


def verdict(grade: Grade) -> None:
    st.markdown(f"**{'Right.' if grade.is_correct else 'Not quite.'}** {grade.feedback}")


def parts(grade: Grade, *, is_numbered: bool = False) -> None:
    """Each choice, or each place of an order, with what the learner made of it."""
    bullet = "1." if is_numbered else "-"
    st.markdown("\n".join(f"{bullet} {part.text} *({part.mark})* {part.feedback}".rstrip() for part in grade.parts))


def rubric(answer: Answer, *, is_edited: bool) -> None:
    """The points of a written answer, and the model answer beside them."""
    if is_edited:
        st.caption("This compares your earlier answer:")
        st.text(answer.given)  # st.text: a learner's Markdown must not run
    st.markdown("**Rubric**")
    st.caption(answer.grade.feedback)
    st.markdown("\n".join(f"- *{_mark(point)}:* {point.text}" for point in answer.grade.points))
    if answer.grade.model_answer:
        st.markdown(f"**Model answer**\n\n{answer.grade.model_answer}")


def _mark(point: PointCheck) -> str:
    match point.is_mentioned:
        case True:
            return "mentioned"
        case False:
            return "not seen in your answer"
        case None:
            return "for you to judge"
