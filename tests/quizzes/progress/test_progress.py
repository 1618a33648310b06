"""Answers, predictions and places: kept once, for one learner, and given back or forgotten whole."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, inspect, select

from quizzes import MAX_ANSWER_CHARS
from quizzes.progress.progress import Progress, ProgressError, Saved
from quizzes.progress.tables import metadata

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
NOT_KEYS = [
    "",
    "short",
    "x" * 10_000,
    "' OR '1'='1' -- --------",
    "'; DROP TABLE answer; --",
    "A" * 21 + "\n",
    "A" * 21 + "é",
    "A" * 21 + "\0",
    "A" * 21 + "\ud800",
]
TEXTS = [
    "ünï 🐢‍🔥",
    "'; DROP TABLE answer; --",
    "<img src=x onerror=alert(1)>",
    "a\r\nb\tc",
    "\u202eabc",
    "%s %(x)s {{7*7}}",
]


def put(
    progress: Progress, key: str, question: str, given: str, *, at: datetime = NOON, name: str | None = None
) -> Saved:
    name = f"{question}-{given}"[:60] if name is None else name
    return progress.answer(key, question, given, is_correct=given == "right", idea="i", submission=name, at=at)


def test_the_newest_answer_to_a_question_counts_and_says_when(progress: Progress, key: str) -> None:
    put(progress, key, "a", "wrong")
    put(progress, key, "b", "wrong")
    put(progress, key, "a", "right", at=NOON + timedelta(hours=1))
    kept = progress.answers(key)
    assert {question: (answer.given, answer.is_correct) for question, answer in kept.items()} == {
        "b": ("wrong", False),
        "a": ("right", True),
    }
    assert kept["a"].answered_at == NOON + timedelta(hours=1)


def test_a_submission_sent_twice_is_stored_once_and_says_what_is_stored(progress: Progress, key: str) -> None:
    first = put(progress, key, "a", "wrong", name="click-1")
    put(progress, key, "a", "right", name="click-2")
    again = put(progress, key, "b", "right", name="click-1")
    assert (first.is_new, again.is_new) == (True, False)
    assert (again.question_id, again.answer) == (first.question_id, first.answer)
    assert list(progress.answers(key)) == ["a"]
    assert progress.answers(key)["a"].given == "right", "a late repeat must not become the newest answer"
    assert len(json.loads(progress.export(key))["answers"]) == 2


def test_two_learners_may_use_one_name_for_a_submission(progress: Progress) -> None:
    one, other = progress.new_key(), progress.new_key()
    assert put(progress, one, "a", "right", name="1").is_new
    assert put(progress, other, "a", "wrong", name="1").is_new
    assert progress.answers(one)["a"].given == "right"
    assert progress.answers(other)["a"].given == "wrong"


def test_tabs_of_one_learner_answer_at_once_and_nothing_is_lost_or_doubled(progress: Progress, key: str) -> None:
    def tab(number: int) -> list[bool]:
        return [put(progress, key, f"q{i}", "right", name=f"click-{i}").is_new for i in range(10)]

    with ThreadPoolExecutor(4) as tabs:
        new = [is_new for found in tabs.map(tab, range(4)) for is_new in found]
    assert sum(new) == 10
    assert len(json.loads(progress.export(key))["answers"]) == 10


@pytest.mark.parametrize("given", TEXTS)
def test_what_was_typed_comes_back_as_it_was_typed(progress: Progress, key: str, given: str) -> None:
    put(progress, key, "a", given)
    progress.predict(key, "p", given)
    assert progress.answers(key)["a"].given == given
    assert progress.predictions(key) == {"p": given}


def test_a_key_cannot_be_guessed(progress: Progress) -> None:
    keys = {progress.new_key() for _ in range(100)}
    assert len(keys) == 100
    assert {len(key) for key in keys} == {22}  # 16 random bytes in base 64


@pytest.mark.parametrize("text", ["A" * 22, *NOT_KEYS])
def test_a_key_that_nobody_has_finds_nothing(progress: Progress, key: str, text: str) -> None:
    put(progress, key, "a", "right")
    assert [progress.answers(text), progress.predictions(text), progress.mastery(text)] == [{}, {}, {}]
    assert progress.due(text, NOON + timedelta(days=999)) == []
    assert progress.resume(text) is None
    assert set(map(str, json.loads(progress.export(text)).values())) == {"[]", "two-phases progress 1"}
    progress.delete(text)
    assert progress.answers(key)


@pytest.mark.parametrize("text", NOT_KEYS)
def test_what_is_no_key_is_refused_when_something_should_be_kept(progress: Progress, text: str) -> None:
    for keep in (
        lambda: put(progress, text, "a", "right", name="1"),
        lambda: progress.predict(text, "p", "1"),
        lambda: progress.place(text, "decode", "s"),
        lambda: progress.join("AAAAAAAA", text, "nickname"),
    ):
        with pytest.raises(ProgressError, match="no learner's key") as refused:
            keep()
        assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("sent", "match"),
    [
        (("a", "x" * (MAX_ANSWER_CHARS + 1), "1"), "answer has at most 4,000 characters, got 4,001"),
        (("a", "NUL \0", "1"), "no text"),
        (("a", "half \ud83d", "1"), "no text"),
        (("", "right", "1"), "question is empty"),
        (("a", "right", ""), "submission is empty"),
        (("x" * 201, "right", "1"), "question has at most 200"),
        (("a", "right", "x" * 201), "submission has at most 200"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words(
    progress: Progress, key: str, sent: tuple[str, str, str], match: str
) -> None:
    question, given, name = sent
    with pytest.raises(ProgressError, match=match):
        put(progress, key, question, given, name=name)
    assert progress.answers(key) == {}


def test_after_a_restart_the_learner_resumes_where_they_were(url: str) -> None:
    before = Progress(url)
    key = before.new_key()
    assert before.resume(key) is None
    before.predict(key, "p", "first thought")
    before.predict(key, "p", "second thought")
    assert before.resume(key) is None, "a prediction is no place"
    before.place(key, "decode", "one-token")
    before.place(key, "prefill", "")
    put(before, key, "a", "right")
    before.close()
    after = Progress(url)
    assert after.resume(key) == ("prefill", "")
    assert after.predictions(key) == {"p": "second thought"}
    assert after.answers(key)["a"].given == "right"
    after.close()


def test_the_export_holds_every_row_and_deleting_leaves_none(url: str) -> None:
    progress = Progress(url)
    key, other = progress.new_key(), progress.new_key()
    code = progress.new_class({"lessons": ["decode"]})
    for learner in (key, other):
        put(progress, learner, "a", "wrong")
        put(progress, learner, "a", "right")
        progress.predict(learner, "p", "3")
        progress.place(learner, "decode", "s")
        progress.join(code, learner, "Ada")
    exported = json.loads(progress.export(key))
    assert [answer["given"] for answer in exported["answers"]] == ["wrong", "right"]
    assert exported["predictions"][0]["given"] == "3"
    assert exported["learner"][0]["lesson"] == "decode"
    assert exported["classes"][0]["nickname"] == "Ada"
    assert [review["question"] for review in exported["reviews"]] == ["a"]
    assert other not in progress.export(key)
    progress.delete(key)
    progress.delete(key)
    assert _rows_that_name(url, key) == 0
    assert _rows_that_name(url, other) == 6, "learner, 2 answers, prediction, review, seat"
    assert {row.member for row in progress.results(code)} == {1}
    progress.close()


def _rows_that_name(url: str, key: str) -> int:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    assert set(inspect(engine).get_table_names()) == {*metadata.tables, "alembic_version"}
    with engine.connect() as connection:
        count = sum(
            key in map(str, row) for table in metadata.tables.values() for row in connection.execute(select(table))
        )
    engine.dispose()
    return count
