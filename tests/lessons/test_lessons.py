"""Reading lessons: what they hold, in their order, and that a broken one takes no other with it."""

from pathlib import Path

import pytest

from lessons import (
    Ask,
    Place,
    Takeaway,
    Term,
    Text,
    load_glossary,
    load_lessons,
    open_lessons,
    plain,
    written,
)
from quizzes import ContentError
from tests.lessons.sample import LESSON, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path).parent


def test_a_lesson_is_read_part_by_part(folder: Path) -> None:
    (lesson,) = load_lessons(folder)
    assert (lesson.number, lesson.id, lesson.title, lesson.minutes) == (1, "a-lesson", "A lesson", 5)
    assert lesson.can == ("tell the phases apart",)
    assert [type(part) for part in lesson.opening] == [Ask]
    reading, keeping = lesson.sections
    assert [type(part) for part in reading.parts] == [Text, Place, Ask, Takeaway]
    assert [type(part) for part in keeping.parts] == [Text, Ask, Takeaway]
    assert lesson.questions == ("first-guess", "cache-size", "what-grows")
    (placed,) = lesson.all_of(Place)
    assert (placed.name, placed.settings) == ("batching", 'preset="Burst" slots=4')
    first = next(lesson.all_of(Takeaway))
    assert first.markdown.split() == ["One", "pass", "reads", "all", "of", "it."]
    assert "## no section" in next(part for part in keeping.parts if isinstance(part, Text)).markdown


def test_numbers_and_terms_are_written_out(folder: Path) -> None:
    text = written("The [[kv-cache|cache]] of [[prefill]]: {{layers_default:int}}.", load_glossary(folder))
    assert text == (
        'The [cache](#kv-cache "The keys and values of 30 layers.") of '
        '[prefill](#prefill "One pass over the whole prompt."): 30.'
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("minutes: 5", "minutes: soon", "02_broken.md:4: front matter, key 'minutes'"),
        ("[[kv-cache|", "[[kv-cash|", "02_broken.md:27: no term 'kv-cash'"),
        (":::question what", ":::quiz what", "02_broken.md:33: "),
        (LESSON, "", "02_broken.md:1: a lesson starts with ---"),
    ],
)
def test_a_broken_lesson_is_named_and_the_others_open(folder: Path, old: str, new: str, words: str) -> None:
    (folder / "02_broken.md").write_text(LESSON.replace(old, new, 1), encoding="utf-8")
    lessons, problems = open_lessons(folder)
    assert [lesson.id for lesson in lessons] == ["a-lesson"]
    assert any(words in str(problem) for problem in problems), problems
    with pytest.raises(ContentError, match="02_broken"):
        load_lessons(folder)


def test_a_file_that_is_no_text_is_named(folder: Path) -> None:
    (folder / "02_broken.md").write_bytes(b"\xff\xfe\x00")
    lessons, problems = open_lessons(folder)
    assert len(lessons) == 1
    assert "cannot be read" in str(problems[0])


def test_a_definition_is_plain_text_for_where_no_markdown_is_drawn() -> None:
    term = Term("kv-cache", "KV cache", "`Keys` and **values** of [[layer|each layer]]\nof a [pass](#pass).")
    assert plain(term) == "Keys and values of each layer of a pass."
