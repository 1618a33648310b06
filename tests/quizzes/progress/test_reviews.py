"""When questions come back: FSRS, right as Good and wrong as Again, per learner and question."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from fsrs import Card, Rating, Scheduler

from quizzes.progress.progress import Progress

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
# Initial stability after Again and after Good in days: FSRS-6's published default weights w0 and w2.
AGAIN_DAYS, GOOD_DAYS = 0.212, 2.3065


def put(
    progress: Progress, key: str, question: str, is_correct: bool | None, *, at: datetime = NOON, idea: str = "i"
) -> None:
    name = f"{question} {at.isoformat()}"
    progress.answer(key, question, "x", is_correct=is_correct, idea=idea, submission=name, at=at)


def test_a_first_answer_has_the_published_stability(progress: Progress, key: str) -> None:
    put(progress, key, "missed", False, idea="one")
    put(progress, key, "known", True, idea="other")
    found = progress.mastery(key)
    assert found["one"].stability == pytest.approx(AGAIN_DAYS)
    assert found["other"].stability == pytest.approx(GOOD_DAYS)


def test_what_was_missed_is_due_the_same_evening_and_what_was_right_after_days(
    progress: Progress, key: str
) -> None:
    put(progress, key, "known", True)
    put(progress, key, "missed", False)
    assert progress.due(key, NOON) == []
    assert progress.due(key, NOON + timedelta(minutes=10)) == ["missed"]
    assert progress.due(key, NOON + timedelta(days=1)) == ["missed"]
    assert progress.due(key, NOON + timedelta(days=GOOD_DAYS)) == ["missed", "known"]


def test_the_most_overdue_comes_first(progress: Progress, key: str) -> None:
    for minute, question in enumerate(["c", "a", "b"]):
        put(progress, key, question, False, at=NOON + timedelta(minutes=minute))
    assert progress.due(key, NOON + timedelta(hours=1)) == ["c", "a", "b"]


def test_weeks_of_answers_are_scheduled_as_fsrs_alone_schedules_them(progress: Progress, key: str) -> None:
    scheduler = Scheduler(learning_steps=[timedelta(minutes=10)], enable_fuzzing=False)
    card, at = Card(card_id=1), NOON
    for is_correct in (False, True, True, False, False, True, True, True):
        put(progress, key, "a", is_correct, at=at)
        card, _ = scheduler.review_card(card, Rating.Good if is_correct else Rating.Again, at)
        found = progress.mastery(key)["i"]
        assert found.due == card.due
        assert found.stability == pytest.approx(card.stability)
        at = card.due + timedelta(hours=3)


def test_mastery_counts_each_question_once_by_its_newest_graded_answer(progress: Progress, key: str) -> None:
    put(progress, key, "a", False, idea="weights")
    put(progress, key, "a", True, idea="weights", at=NOON + timedelta(minutes=1))
    put(progress, key, "b", False, idea="weights")
    put(progress, key, "c", True, idea="cache")
    put(progress, key, "c", None, idea="cache", at=NOON + timedelta(minutes=1))
    put(progress, key, "d", None, idea="never graded")
    found = progress.mastery(key)
    assert {idea: (each.right, each.wrong) for idea, each in found.items()} == {"weights": (1, 1), "cache": (1, 0)}
    assert found["weights"].due == NOON + timedelta(minutes=10)


def test_an_answer_nobody_judged_is_kept_and_never_due(progress: Progress, key: str) -> None:
    put(progress, key, "written", None)
    assert progress.answers(key)["written"].is_correct is None
    assert progress.due(key, NOON + timedelta(days=999)) == []


def test_a_repeated_submission_is_no_second_review(progress: Progress, key: str) -> None:
    put(progress, key, "a", True)
    before = progress.mastery(key)
    put(progress, key, "a", True)
    assert progress.mastery(key) == before


def test_a_clock_that_is_set_back_a_day_breaks_nothing(progress: Progress, key: str) -> None:
    put(progress, key, "a", True)
    put(progress, key, "a", False, at=NOON - timedelta(days=1))
    assert progress.answers(key)["a"].is_correct is False, "newest is what came last"
    assert progress.due(key, NOON) == ["a"]


def test_two_tabs_that_answer_one_question_at_once_both_count_in_its_review(progress: Progress, key: str) -> None:
    def tab(number: int) -> None:
        progress.answer(key, "a", "x", is_correct=False, idea="i", submission=str(number), at=NOON)

    with ThreadPoolExecutor(8) as tabs:
        list(tabs.map(tab, range(8)))
    scheduler, card = Scheduler(learning_steps=[timedelta(minutes=10)], enable_fuzzing=False), Card(card_id=1)
    for _ in range(8):
        card, _ = scheduler.review_card(card, Rating.Again, NOON)
    assert progress.mastery(key)["i"].stability == pytest.approx(card.stability)
