"""A term comes after its explanation: in its lesson, or linked where it is needed before."""

from pathlib import Path

import pytest

from lessons.checking.check import check_lesson
from tests.lessons.sample import LESSON, course, write

SECOND = (
    LESSON.replace("quiz: a-lesson", "quiz: second")
    .replace("terms: [prefill, kv-cache]", "terms: [kv-head]")
    .replace("[[prefill]]", "prefill")
    .replace("[[kv-cache|cache]]", "[[kv-head|KV heads']] cache")
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A course of two lessons: the second introduces the KV head."""
    first = write(tmp_path)
    first.with_name("02_second.md").write_text(SECOND, encoding="utf-8")
    questions = (tmp_path / "quizzes/a-lesson.yaml").read_text(encoding="utf-8")
    (tmp_path / "quizzes/second.yaml").write_text(questions.replace("- id: ", "- id: b-"), encoding="utf-8")
    second = first.with_name("02_second.md")
    for name in ("first-guess", "cache-size", "what-grows"):
        text = second.read_text(encoding="utf-8")
        second.write_text(text.replace(f":::question {name}", f":::question b-{name}"), encoding="utf-8")
    return tmp_path


def early(folder: Path, name: str = "01_a-lesson.md") -> list[str]:
    found = map(str, check_lesson(folder / "lessons" / name, course(folder)))
    return [one.removeprefix(f"{folder}/") for one in found if "before it is explained" in one]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_two_lessons_have_no_early_term(folder: Path) -> None:
    assert early(folder) == early(folder, "02_second.md") == []


LINE = LESSON[: LESSON.index("The [[kv-cache")].count("\n") + 1


@pytest.mark.parametrize("words", ["KV head", "KV heads", "kv-head", "KV\nhead"])
def test_a_term_of_a_later_lesson_is_named_with_its_line(folder: Path, words: str) -> None:
    change(folder / "lessons/01_a-lesson.md", "The [[kv-cache", f"By {words} the [[kv-cache")
    (problem,) = early(folder)
    assert problem.startswith(f"lessons/01_a-lesson.md:{LINE}: 'KV head' is used before it is explained")
    assert "lesson 2 introduces it" in problem
    assert "[[kv-head|words]]" in problem


@pytest.mark.parametrize(
    "words", ["[[kv-head]]", "[[kv-head|heads]], KV heads", '"KV head"', "`KV head`", "overhead", "KV heading"]
)
def test_a_link_explains_and_so_does_talk_about_a_word_pass(folder: Path, words: str) -> None:
    change(folder / "lessons/01_a-lesson.md", "The [[kv-cache", f"By {words} the [[kv-cache")
    assert early(folder) == []


def test_a_link_to_a_term_of_a_later_lesson_need_not_be_listed(folder: Path) -> None:
    change(folder / "lessons/01_a-lesson.md", "The [[kv-cache", "By [[kv-head]] the [[kv-cache")
    assert check_lesson(folder / "lessons/01_a-lesson.md", course(folder)) == []


def test_a_lesson_explains_its_own_terms_before_it_uses_them(folder: Path) -> None:
    change(folder / "lessons/01_a-lesson.md", "## Keeping\n", "## Keeping\n\nA KV cache keeps.\n")
    (problem,) = early(folder)
    assert "'KV cache'" in problem
    assert "lesson 1 introduces it" in problem


def test_the_longer_of_two_names_is_the_one_that_is_meant(folder: Path) -> None:
    with (folder / "lessons/glossary.yaml").open("a", encoding="utf-8") as glossary:
        glossary.write("- id: cache\n  term: cache\n  also: [store]\n  text: What is kept.\n")
    change(folder / "lessons/01_a-lesson.md", "The [[kv-cache|cache]] grows", "The [[kv-cache]], a KV cache, grows")
    assert early(folder) == []
    change(folder / "lessons/01_a-lesson.md", "a KV cache, grows", "a store, grows")
    (problem,) = early(folder)
    assert "'cache' is used before it is explained, and no lesson introduces it" in problem


def test_a_question_may_not_use_what_comes_later_unless_it_opens_the_lesson(folder: Path) -> None:
    quiz = folder / "quizzes/a-lesson.yaml"
    change(quiz, "Which phase reads the prompt?", "Which phase fills the KV cache in its KV heads?")
    (opening,) = early(folder)
    assert "question 'first-guess': 'KV head'" in opening
    change(quiz, "What grows with every token?", "What grows as the KV heads' prefill does?")
    assert [one.split("question ")[1].split(": ")[0] for one in early(folder)] == ["'first-guess'", "'what-grows'"]
