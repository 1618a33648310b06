"""Each fault an author can plant makes the check of its file fail, and names the place."""

import re
from pathlib import Path

import pytest

from lessons.checking.check import check_lesson
from lessons.checking.check_files import check_folders, check_glossary, check_quiz
from tests.lessons.sample import LESSON, course, write


@pytest.fixture
def lesson(tmp_path: Path) -> Path:
    return write(tmp_path)


def line_of(text: str) -> int:
    """In the sample lesson."""
    return LESSON[: LESSON.index(text)].count("\n") + 1


def problems(lesson: Path) -> list[str]:
    """Of every file of the lesson's course, without its folder."""
    folder = lesson.parents[1]
    now = course(folder)
    found = [*check_lesson(lesson, now), *check_folders(now), *check_glossary(now)]
    for path in sorted(now.quizzes.glob("*.yaml")):
        found += check_quiz(path, now)
    return [str(one).removeprefix(f"{folder}/") for one in found]


def plant(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_sample_has_no_problem(lesson: Path) -> None:
    assert problems(lesson) == []


FRONT = "lessons/01_a-lesson.md"
ASKED = ":::question cache-size\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("title: A lesson\n", "", 1, "key 'title': Field required"),
        ("summary:", "sumary:", 3, "key 'sumary': Extra inputs"),
        ("minutes: 5", "minutes: five", 4, "key 'minutes'"),
        ("minutes: 5", "minutes: 10", 4, "take about 4.9"),
        ("  - tell the phases", "  - tell: the phases", 6, "key 'can.0': .*string"),
        ("quiz: a-lesson", "quiz: none", 7, "there is no quizzes/none.yaml"),
        ("terms: [prefill, kv-cache]", "terms: [prefill]", 8, "'kv-cache' is marked in the text but not listed"),
        ("terms: [prefill, kv-cache]", "terms: [prefill, kv-cache, kv-head]", 8, "'kv-head' is never marked"),
        ("title: A lesson", "title: A lesson\ntitle: Another", 3, "key 'title' is there twice"),
        ("summary: What", "summary: [What", 4, "not YAML"),
        ("---\ntitle", "title", 1, "starts with ---"),
        ('sources:\n  - "A paper, 2024, says so, arXiv 2401.00000"', "sources: []", 9, "key 'sources'"),
        (
            ":::question first-guess\n",
            "Hello.\n\n:::question first-guess\n",
            12,
            "opens with a question to predict",
        ),
        (":::question first-guess", ":::question what-grows", 12, "of kind 'term'; open with predict or choice"),
        ("> **Takeaway.** One pass reads\n> all of it.\n", "", 14, "'Reading' does not end with a takeaway"),
        (ASKED, "", 7, "question 'cache-size' of quizzes/a-lesson.yaml is not asked here"),
        (ASKED, "", 1, "at least 3 questions, this one has 2"),
        (ASKED, ":::question cache-sise\n", line_of(ASKED), "no question 'cache-sise' in quizzes/a-lesson.yaml"),
        (ASKED, ASKED * 2, line_of(ASKED), "asked 2 times"),
        (ASKED, ":::quiz cache-size\n", line_of(ASKED), "a directive is"),
        (ASKED, "::: cache-size\n", line_of(ASKED), "a directive is"),
        ('batching preset="Burst"', "baching", line_of(":::experiment"), "no experiment 'baching'"),
        (':::experiment batching preset="Burst" slots=4\n', "", 1, "at least 1 experiment, this one has 0"),
        ("{{kv_bytes", "{{kb_bytes", line_of("{{kv_bytes"), "no fact 'kb_bytes_per_token_default'"),
        (
            ":bytes}} a token.\n\n```",
            ":miles}} a token.\n\n```",
            line_of("{{kv_bytes"),
            "the format must be one of",
        ),
        ("{{kv_bytes_per_token_default:bytes}}", "46.1 kB", line_of("{{kv_bytes"), "'46.1 kB' is typed"),
        ("{{kv_bytes_per_token_default:bytes}}", "46.1\nkB", line_of("{{kv_bytes"), "'46.1 kB' is typed"),
        ("default:bytes}} a token.\n\n", "default:bytes} a token.\n\n", line_of("{{kv_bytes"), "stands alone"),
        ("[[kv-cache|cache]]", "[[kv-cash|cache]]", line_of("[[kv-cache"), "no term 'kv-cash'"),
        ("[[kv-cache|cache]]", "[[kv-cache|cache]", line_of("[[kv-cache"), "[[ stands alone"),
        (
            "The [[kv-cache|",
            "The attention-heads' [[kv-cache|",
            line_of("[[kv-cache"),
            "say 'KV head', not 'attention",
        ),
        ("## Keeping", "### Keeping", line_of("## Keeping"), "the only headings are sections"),
        ("## Keeping", "## Reading", 14, "two sections are called 'Reading'"),
        ("can:\n  - tell", "can:\n  - within 30 ms tell", 5, "'30 ms' is typed"),
    ],
)
def test_a_fault_in_a_lesson_is_named_with_its_line(
    lesson: Path, old: str, new: str, line: int, words: str
) -> None:
    plant(lesson, old, new)
    found = problems(lesson)
    assert any(
        one.startswith(f"{FRONT}:{line}: ") and re.search(words.replace("[[", r"\[\["), one) for one in found
    ), found


@pytest.mark.parametrize(
    "text",
    ["2 bytes", "100 %", "an 8B and a 70B", "the 1990s", "step 3 saves much", "`--chunk 512 steps`", "4K × 4K"],
)
def test_what_looks_like_a_number_with_a_unit_and_is_none_passes(lesson: Path, text: str) -> None:
    plant(lesson, "The [[kv-cache", f"With {text}, the [[kv-cache")
    assert problems(lesson) == []


def test_a_word_in_quotation_marks_is_talked_about(lesson: Path) -> None:
    plant(lesson, "The [[kv-cache", 'Not "attention heads" or “attention heads”: the [[kv-cache')
    assert problems(lesson) == []


def test_all_problems_of_a_file_come_at_once(lesson: Path) -> None:
    plant(lesson, ASKED, "")
    plant(lesson, "{{kv_bytes_per_token_default:bytes}}", "46 ms and 3 GB")
    plant(lesson, "minutes: 5", "minutes: 9")
    assert len(problems(lesson)) == 5


QUIZ = "quizzes/a-lesson.yaml"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("is_correct: false", "is_correct: true", r"a-lesson.yaml:1: question 'first-guess'.*exactly one choice"),
        ("is_correct: true", "is_correct: false", r"a-lesson.yaml:1: question 'first-guess'.*exactly one choice"),
        ("fact: kv_bytes", "fact: kb_bytes", r"a-lesson.yaml:12: question 'cache-size', key fact: no fact"),
        ("idea: cache\n  fact", "idear: cache\n  fact", r"a-lesson.yaml:\d+: question 'cache-size', key idear"),
        ("- id: what-grows", "- id: first-guess", r"a-lesson.yaml:\d+: question 'first-guess' is already in"),
        ("- id: what-grows", "- id: [what", r"a-lesson.yaml:\d+: not YAML"),
    ],
)
def test_a_fault_in_a_quiz_is_named_with_its_line(lesson: Path, old: str, new: str, words: str) -> None:
    plant(lesson.parents[1] / QUIZ, old, new)
    found = problems(lesson)
    assert any(re.search(words, one) for one in found), found


def test_a_stray_file_an_orphan_quiz_and_a_gap_are_named(lesson: Path) -> None:
    folder = lesson.parents[1]
    (folder / "lessons/notes.md").write_text("later")
    (folder / "quizzes/old.yml").write_text("[]")
    (folder / "quizzes/orphan.yaml").write_text("[]")
    lesson.rename(folder / "lessons/02_a-lesson.md")
    found = problems(folder / "lessons/02_a-lesson.md")
    assert any(one.startswith("lessons/notes.md: a stray file") for one in found)
    assert any(one.startswith("quizzes/old.yml: a stray file") for one in found)
    assert any(one.startswith("quizzes/orphan.yaml: no lesson has this quiz") for one in found)
    assert any(one.startswith("lessons/02_a-lesson.md: lessons are numbered without gaps: 01") for one in found)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("- id: kv-head", "- id: kv-cache", r"glossary.yaml:7: term 'kv-cache' is there twice"),
        ("term: KV head", "name: KV head", r"glossary.yaml:7: term 'kv-head', key 'name'"),
        ("{{layers_default:int}}", "{{layer_default:int}}", r"glossary.yaml:4: no fact 'layer_default'"),
        ("- id: kv-head", "- id: {kv-head", r"glossary.yaml:\d+: not YAML"),
    ],
)
def test_a_fault_in_the_glossary_is_named(lesson: Path, old: str, new: str, words: str) -> None:
    plant(lesson.parent / "glossary.yaml", old, new)
    found = problems(lesson)
    assert any(re.search(words, one) for one in found), found
