"""The course's pages without a browser: the list, every lesson with its experiments, the glossary."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from lessons import Lesson, Place, load_lessons, open_lessons
from pages.ui.course import course
from pages.ui.lesson_experiments import EXPERIMENTS
from tests.lessons.sample import LESSON, write

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
    assert headers == [*(section.title for section in lesson.sections), "You can now"]
    shown = "\n".join(markdown.value for markdown in app.markdown)
    assert "{{" not in shown
    assert "[[" not in shown
    assert shown.count("**Takeaway.**") == len(lesson.sections)
    assert all(one in shown for one in lesson.sources)
    assert not any(text.value.startswith("This experiment cannot be shown") for text in app.text)
    keys = {button.key for button in app.button}
    assert len({key for key in keys if key}) >= len(lesson.questions)


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
    monkeypatch.setattr("pages.ui.course.open_lessons", lambda: open_lessons(folder))
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
