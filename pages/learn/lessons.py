"""The course: every lesson with what it is about, how long it takes, and how far the learner is."""

import streamlit as st

from pages.ui.course import progress as lesson_progress
from pages.ui.course.course import course
from pages.ui.course.page import page_of

known = course()
st.title("Lessons", anchor=False)
minutes = sum(lesson.minutes for lesson in known.lessons)
st.caption(
    f"{len(known.lessons)} lessons, about {minutes} minutes in all. {lesson_progress.course_words(known.lessons)}."
)
lesson_progress.show_problem()
resumed = next((lesson for lesson in known.lessons if lesson.id == lesson_progress.place()), None)
goes_on = resumed or (known.lessons[0] if known.lessons else None)
if goes_on:
    words = f"Go on with {goes_on.number}. {goes_on.title}" if resumed else "Begin"
    if st.button(words, key="resume", type="primary"):
        st.switch_page(page_of(goes_on))

for lesson in known.lessons:
    with st.container(key=f"lesson-row-{lesson.number}", gap="xxsmall"):
        st.page_link(page_of(lesson), label=f"**{lesson.number}. {lesson.title}**")
        done, total = lesson_progress.num_answered(lesson), len(lesson.questions)
        state = "every question answered" if done == total else f"{done} of {total} questions answered"
        st.caption(f"{lesson.summary} {lesson.minutes} minutes, {state}.")

if known.problems:
    st.subheader("Files that cannot be opened", anchor=False)
    st.caption("The rest of the course does not depend on them.")
    st.text("\n".join(f"{problem.path.name}:{problem.line}: {problem.words}" for problem in known.problems))
