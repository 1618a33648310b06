"""A class sees its members' answers under nicknames, and never a key."""

import pytest

from quizzes.progress.progress import MAX_NICKNAME_CHARS, Progress, ProgressError

NOT_CODES = ["", "AAAAAAA", "AAAA0000", "aaaaaaaa", "A" * 10_000, "' OR 1=1--", "AAAAAAA\n", "AAAA\0AAA"]
NICKNAMES = [
    "",
    "<b>Ada</b>",
    '=HYPERLINK("http://x")',
    "![t](http://127.0.0.1:9/x.png)",
    "Ада 🐢",
    "عدا",
    "👩\u200d🚀",
]
UNSEEN = ["\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\n", "\t", "\x1b", "\x85", "\u2028"]


def put(progress: Progress, key: str, question: str, given: str) -> None:
    is_correct = given == "right"
    progress.answer(key, question, given, is_correct=is_correct, idea="i", submission=f"{question} {given}")


def test_settings_come_back_by_the_code_and_codes_differ(progress: Progress) -> None:
    settings = {"lessons": ["decode", "prefill"], "model": None, "seed": 3, "name": "10b 🐢"}
    codes = {progress.new_class(settings) for _ in range(20)}  # type: ignore[arg-type]
    assert len(codes) == 20
    assert all(progress.class_settings(code) == settings for code in codes)
    assert codes <= {found.code for found in progress.classes()}


def test_settings_that_are_too_long_are_refused(progress: Progress) -> None:
    with pytest.raises(ProgressError, match="at most 20,000 characters"):
        progress.new_class({"lessons": ["x" * 20_000]})


def test_results_hold_the_newest_answers_of_members_only_and_no_key(progress: Progress) -> None:
    code, other_code = progress.new_class({}), progress.new_class({})
    ada, bob, eve = (progress.new_key() for _ in range(3))
    put(progress, ada, "a", "wrong")
    progress.join(code, ada, "Ada")
    progress.join(code, bob, "Ada")
    progress.join(other_code, eve, "Eve")
    put(progress, ada, "a", "right")
    put(progress, bob, "b", "wrong")
    put(progress, eve, "a", "right")
    found = progress.results(code)
    assert [(row.member, row.nickname, row.question_id, row.answer.given) for row in found] == [
        (1, "Ada", "a", "right"),
        (2, "Ada", "b", "wrong"),
    ]
    assert not any(key in repr(found) for key in (ada, bob, eve))
    assert (num_members(progress, code), num_members(progress, other_code)) == (2, 1)


def num_members(progress: Progress, code: str) -> int:
    (found,) = (each.num_members for each in progress.classes() if each.code == code)
    return found


@pytest.mark.parametrize("nickname", NICKNAMES)
def test_a_nickname_is_kept_as_typed(progress: Progress, key: str, nickname: str) -> None:
    code = progress.new_class({})
    put(progress, key, "a", "right")
    progress.join(code, key, "before")
    progress.join(code, key, nickname)
    assert [row.nickname for row in progress.results(code)] == [nickname]


@pytest.mark.parametrize(
    ("nickname", "match"),
    [("x" * (MAX_NICKNAME_CHARS + 1), "at most 40"), ("a\0", "no text"), ("\ud83d", "no text")]
    + [(f"A{hidden}da", f"invisible character .U.{ord(hidden):04X}") for hidden in UNSEEN],
)
def test_a_nickname_that_cannot_be_kept_is_refused(progress: Progress, key: str, nickname: str, match: str) -> None:
    code = progress.new_class({})
    with pytest.raises(ProgressError, match=match):
        progress.join(code, key, nickname)
    assert num_members(progress, code) == 0


@pytest.mark.parametrize("text", ["AAAAAAAA", *NOT_CODES])
def test_a_code_that_no_class_has_finds_nothing_and_cannot_be_joined(
    progress: Progress, key: str, text: str
) -> None:
    code = progress.new_class({})
    assert progress.results(text) == []
    assert progress.class_settings(text) is None
    with pytest.raises(ProgressError, match="no class") as refused:
        progress.join(text, key, "Ada")
    assert len(str(refused.value)) < 200
    progress.delete_class(text)
    assert progress.class_settings(code) == {}


def test_a_deleted_class_is_gone_and_its_members_keep_their_answers(progress: Progress, key: str) -> None:
    code = progress.new_class({})
    put(progress, key, "a", "right")
    progress.join(code, key, "Ada")
    progress.delete_class(code)
    progress.delete_class(code)
    assert progress.results(code) == []
    assert code not in {each.code for each in progress.classes()}
    assert list(progress.answers(key)) == ["a"]
    assert '"classes": []' in progress.export(key)
