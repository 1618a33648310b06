"""The course's pages without a browser: the list, every lesson with its experiments, the glossary."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from lessons import Ask, Lesson, Place, load_lessons, open_lessons
from lessons.reading.written import terms_in
from pages.ui.course.course import course
from pages.ui.course.placed import EXPERIMENTS
from tests.lessons.sample import LESSON, write
from tests.pages.conftest import SHELL
from tests.pages.labs import laboratory

LESSONS = load_lessons()


def open_lesson(app: AppTest, lesson: Lesson) -> AppTest:
    """AppTest switches by file; a lesson's page has none, only its address."""
    app._page_hash = calc_hash(f"lesson-{lesson.number:02}")
    return app.run()


def open_page(app: AppTest, name: str) -> AppTest:
    app.run()
    app.switch_page(f"../learn/{name}.py")
    return app.run()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.id)
def test_a_lesson_shows_its_text_questions_and_experiments(app: AppTest, lesson: Lesson) -> None:
    open_lesson(app, lesson)
    assert not app.exception
    assert app.title[0].value == f"{lesson.number}. {lesson.title}"
    headers = [header.value for header in app.header]
    assert headers == [*(section.title for section in lesson.sections), "You can now", "Terms"]
    assert [header.anchor for header in app.subheader] == terms_in(lesson)
    assert set(lesson.terms) <= set(terms_in(lesson))
    shown = "\n".join(markdown.value for markdown in app.markdown)
    assert "{{" not in shown
    assert "[[" not in shown
    assert shown.count("**Takeaway.**") == len(lesson.sections)
    assert all(one in shown for one in lesson.sources)
    assert not any(text.value.startswith("This experiment could not be drawn") for text in app.text)
    keys = {button.key for button in app.button}
    assert len({key for key in keys if key}) >= len(lesson.questions)
    assert not [button.label for button in app.button if button.proto.type == "primary"], "reading on comes next"


def test_a_course_has_experiments_that_are_there() -> None:
    placed = {part.name for lesson in LESSONS for part in lesson.all_of(Place)}
    assert placed <= set(EXPERIMENTS)


def test_the_list_says_what_each_is_about_and_how_far_the_learner_is(app: AppTest) -> None:
    open_page(app, "lessons")
    assert not app.exception
    words = "\n".join(caption.value for caption in app.caption)
    total = sum(len(lesson.questions) for lesson in LESSONS)
    assert f"0 of {total} questions answered" in words
    for lesson in LESSONS:
        assert lesson.summary in words


def test_a_lesson_is_found_again_where_it_was_left(app: AppTest) -> None:
    lesson = LESSONS[0]
    open_lesson(app, lesson)
    open_page(app, "lessons")
    assert app.button("resume").label == f"Go on with {lesson.number}. {lesson.title}"


def test_the_glossary_defines_every_term_and_leads_to_its_lesson(app: AppTest) -> None:
    open_page(app, "glossary")
    assert not app.exception
    assert {header.anchor for header in app.subheader} == set(course().glossary)
    shown = "\n".join(markdown.value for markdown in app.markdown)
    assert "{{" not in shown


def test_a_broken_lesson_is_named_on_the_list_and_the_others_open(
    app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path).parent
    (folder / "02_broken.md").write_text(LESSON.replace("minutes: 5", "minutes: soon"), encoding="utf-8")
    monkeypatch.setattr("pages.ui.course.course.open_lessons", lambda: open_lessons(folder))
    course.clear()
    try:
        open_page(app, "lessons")
        assert not app.exception
        assert "02_broken.md:4: front matter, key 'minutes'" in "\n".join(text.value for text in app.text)
        lesson = course().lessons[0]
        open_lesson(app, lesson)
        assert app.title[0].value == "1. A lesson"
        assert any("cannot be asked" in caption.value for caption in app.caption)  # not among the course's own
    finally:
        monkeypatch.undo()
        course.clear()


def test_the_list_begins_the_course_and_each_lesson_leads_to_the_next(app: AppTest) -> None:
    open_page(app, "lessons")
    assert app.button("resume").label == "Begin"
    open_lesson(app, LESSONS[-1])
    assert not app.exception
    labels = [link.proto.label for link in app.get("page_link")]
    assert labels == ["All lessons"]
    open_lesson(app, LESSONS[0])
    labels = [link.proto.label for link in app.get("page_link")]
    assert labels == [f"Next: 2. {LESSONS[1].title}", "All lessons"]


def test_an_answer_is_counted_and_the_next_section_is_offered(app: AppTest) -> None:
    lesson = next(one for one in LESSONS if one.id == "batching")
    open_lesson(app, lesson)
    opening = lesson.questions[0]
    choice = app.radio(f"answer-{opening}")
    choice.set_value(choice.options[0]).run()
    app.button(f"check-{opening}").click().run()
    assert not app.exception
    open_lesson(app, lesson)
    following = next(section for section in lesson.sections if any(isinstance(part, Ask) for part in section.parts))
    assert following != lesson.sections[0]
    assert any(f"You stopped here: [{following.title}](#" in markdown.value for markdown in app.markdown)
    open_page(app, "lessons")
    assert f"1 of {len(lesson.questions)} questions answered" in "\n".join(one.value for one in app.caption)


@pytest.fixture
def _no_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A laboratory of this test's own, that cannot load anything."""
    monkeypatch.setenv("TWOPHASES_MODEL", "random:no-such-shape")
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.mark.usefixtures("_no_model")
def test_every_lesson_can_be_read_where_no_model_can_be_had() -> None:
    app = AppTest.from_file(SHELL, default_timeout=20).run()
    assert laboratory().wait(60).state == "failed"
    for lesson in LESSONS:
        open_lesson(app, lesson)
        assert not app.exception, lesson.id
        assert app.header[0].value == lesson.sections[0].title
