"""Every kind of question grades, keeps its secrets, and says what is wrong with its file."""

from dataclasses import asdict
from pathlib import Path

import pytest

from quizzes import (
    ContentError,
    MultipleQuestion,
    NumberQuestion,
    OrderQuestion,
    PredictQuestion,
    Question,
    TermQuestion,
    load_questions,
    open_questions,
    open_quizzes,
)
from tests.quizzes.kinds import KINDS, changed, facts, kinds

__all__ = ["facts"]
pytestmark = pytest.mark.usefixtures("facts")


WRONG = [{"id": name, "text": name, "is_correct": False, "feedback": name} for name in ("a", "b")]


@pytest.fixture
def asked(tmp_path: Path) -> dict[str, Question]:
    return kinds(tmp_path)


def test_before_an_answer_nothing_is_sent_that_tells_it(asked: dict[str, Question]) -> None:
    sent = {name: str(asdict(question.asked("a"))) for name, question in asked.items()}
    for secret in ("One per KV head", "gap_s", "50", "first", "cache_bytes", "sequential", "kv_bytes", "grows"):
        assert [name for name in sent if secret in sent[name] and name != "pick"] == []
    assert "In one pass" not in sent["pick"]
    assert "a gap of 3 heads" in sent["gap"]
    assert asked["gap"].asked("a").unit == "ms"


def test_choices_and_items_are_shuffled_by_the_seed_and_stay(asked: dict[str, Question]) -> None:
    for name in ("several", "sequence"):
        orders = [tuple(one.id for one in asked[name].asked(str(seed)).options) for seed in range(60)]
        assert len(set(orders)) == 6, "every order of three comes up"
        assert orders == [tuple(one.id for one in asked[name].asked(str(seed)).options) for seed in range(60)]


@pytest.mark.parametrize("name", ["pick", "several", "gap", "sequence", "word"])
def test_the_key_is_graded_right_and_each_wrong_answer_wrong(asked: dict[str, Question], name: str) -> None:
    question = asked[name]
    assert not isinstance(question, PredictQuestion)
    assert question.grade(question.right()).is_correct is True
    assert question.wrong()
    assert {question.grade(given).is_correct for given in question.wrong()} == {False}


def test_every_choice_of_several_says_why_it_belongs_or_not(asked: dict[str, Question]) -> None:
    question = asked["several"]
    assert isinstance(question, MultipleQuestion)
    grade = question.grade("v,w")
    assert (grade.is_correct, grade.feedback) == (False, "1 of 3 choices are right.")
    assert [(part.text, part.is_right, part.mark, part.feedback) for part in grade.parts] == [
        ("Keys", False, "left out, but it belongs", "One per KV head."),
        ("Values", True, "chosen, and it belongs", "Likewise."),
        ("Weights", False, "chosen, but it does not belong", "They are apart."),
    ]
    assert question.grade("v,k").is_correct is True


@pytest.mark.parametrize(
    ("given", "said"),
    [("", "choose at least one"), ("k,q", "offers no 'q'"), ("k,k", "given twice"), (None, "offers no None")],
)
def test_a_choice_of_several_that_cannot_be_is_refused(
    asked: dict[str, Question], given: object, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        asked["several"].grade(given)


def test_an_order_says_which_place_is_right(asked: dict[str, Question]) -> None:
    question = asked["sequence"]
    assert isinstance(question, OrderQuestion)
    grade = question.grade("dec,pre,tok")
    assert grade.is_correct is False
    assert [part.mark for part in grade.parts] == ["comes later", "in its place", "comes earlier"]
    assert grade.feedback == "1 of 3 places are right. Text becomes tokens first."


@pytest.mark.parametrize(
    ("given", "said"), [("tok,pre", "2 of 3 places"), ("tok,tok,pre", "given twice"), ("tok,pre,end", "offers no")]
)
def test_half_an_order_is_refused(asked: dict[str, Question], given: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        asked["sequence"].grade(given)


@pytest.mark.parametrize(
    "given", ["KV cache", "kv-cache", "the KV Cache.", "KVcache", "key value cache", "Key‑Value-cache"]
)
def test_case_spaces_and_hyphens_of_a_term_do_not_matter(asked: dict[str, Question], given: str) -> None:
    assert asked["word"].grade(given).is_correct is True


def test_a_known_confusion_gets_its_own_words(asked: dict[str, Question]) -> None:
    question = asked["word"]
    assert isinstance(question, TermQuestion)
    assert question.grade("Memory").feedback == "Memory holds more than that."
    assert question.grade("a shelf") == question.grade("nothing")
    with pytest.raises(ValueError, match="blank"):
        question.grade(" ")
    with pytest.raises(ValueError, match="at most 80 characters, got 81"):
        question.grade("a" * 81)


@pytest.mark.parametrize(
    ("given", "is_correct"),
    [
        ("50", True),
        ("52.5 ms", True),
        ("0.0475 s", True),
        ("52.6", False),
        ("47.4 ms", False),
        ("0.05", False),
        ("-50", False),
    ],
)
def test_a_number_is_right_within_its_tolerance_in_any_unit_of_its_kind(
    asked: dict[str, Question], given: str, is_correct: bool
) -> None:
    assert asked["gap"].grade(given).is_correct is is_correct


def test_a_known_slip_is_explained_and_any_other_wrong_number_gets_a_direction(asked: dict[str, Question]) -> None:
    question = asked["gap"]
    assert isinstance(question, NumberQuestion)
    assert question.grade("150").feedback == "That counts query heads.\n\nIt is 50.0 ms."
    assert question.grade("3000").feedback.startswith("That is the number of heads in seconds.")
    assert question.grade("60").feedback == "That is too high. It is 50.0 ms."
    assert question.grade("10").feedback == "That is too low. It is 50.0 ms."


@pytest.mark.parametrize("given", ["∞", "nan", "fifty", "", None, "5 GB", "1,5"])
def test_what_is_no_number_costs_nothing(asked: dict[str, Question], given: object) -> None:
    with pytest.raises(ValueError, match=r"not a number|asked for in ms|more than one way"):
        asked["gap"].grade(given)


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("pick", {"idea": None}, "question 'pick', key idea: Field required"),
        ("pick", {"level": 3}, "question 'pick', key level: Extra"),
        ("several", {"choices": WRONG}, "at least one choice"),
        ("gap", {"value": 50}, "key value: Extra"),
        ("gap", {"fact": "speed"}, r"key fact: no fact 'speed' in inference/facts/"),
        ("gap", {"fact": "cache_bytes"}, "key unit: unit 'ms' does not fit fact 'cache_bytes'"),
        ("gap", {"fact": "heads", "mistakes": None}, "the prompt tells the answer: it quotes 'heads'"),
        ("gap", {"tolerance": 0.9}, "key tolerance: .*less than or equal to 0.5"),
        ("gap", {"tolerance": None}, "key tolerance: Field required"),
        ("gap", {"mistakes": [{"factor": 1.02, "feedback": "x"}]}, "within the tolerance of the right value"),
        ("gap", {"mistakes": [{"feedback": "x"}]}, "either a fact or a factor"),
        ("gap", {"mistakes": [{"fact": "pace", "feedback": "x"}]}, r"key mistakes\.0\.fact: no fact 'pace'"),
        ("gap", {"feedback": "{{gap_s:furlongs}}"}, "key feedback: .*format must be one of int"),
        ("gap", {"feedback": "{{gap_s}}"}, "key feedback: a number is written"),
        ("gap", {"feedback": "{{pace:int}}"}, "key feedback: no fact 'pace'"),
        ("sequence", {"items": [{"id": "a", "text": "A"}] * 3}, "every item needs its own id"),
        ("sequence", {"items": [{"id": "a", "text": "A"}]}, "key items: .*at least 3"),
        ("word", {"accepts": []}, "key accepts: .*at least 1"),
        ("word", {"mistakes": [{"accepts": ["kv cache"], "feedback": "x"}]}, "'kv cache' is blank or there twice"),
        ("guess", {"measure": "speed"}, r"no measure 'speed' in quizzes/kinds/measures\.py; there are: ttft"),
        ("guess", {"unit": "ms"}, "unit 'ms' does not measure 'kv_bytes', which is in B"),
        ("guess", {"feedback": "It was {measured}."}, "feedback must show both numbers"),
        ("guess", {"feedback": "{guess}"}, r"feedback holds \{guess\}"),
    ],
)
def test_a_mistake_in_any_kind_is_named(tmp_path: Path, name: str, changes: dict[str, object], said: str) -> None:
    (problem,) = changed(tmp_path, name, **changes)
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(problem)


def test_a_bad_question_takes_neither_its_file_nor_the_others_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- id: x\n b: [", encoding="utf-8")
    (tmp_path / "b.yaml").write_bytes(b"- id: \xff\n")
    (tmp_path / "c.yaml").write_text(KINDS.replace("kind: term", "kind: riddle"), encoding="utf-8")
    (tmp_path / "d.yaml").write_text(KINDS.split("- id: several")[0].replace("pick", "other"), encoding="utf-8")
    questions, problems = open_questions(tmp_path)
    assert [one.id for one in questions] == ["pick", "several", "gap", "sequence", "essay", "guess", "other"]
    assert [(problem.path.name, problem.line) for problem in problems] == [
        ("a.yaml", 2),
        ("b.yaml", 0),
        ("c.yaml", 37),
    ]
    assert {quiz: len(found) for quiz, found in open_quizzes(tmp_path)[0].items()} == {
        "a": 0,
        "b": 0,
        "c": 6,
        "d": 1,
    }
    with pytest.raises(
        ContentError, match=r"(?s)a\.yaml:2: not YAML.*b\.yaml: cannot be read.*c\.yaml:37: question 'word'"
    ):
        load_questions(tmp_path)


def test_all_problems_of_a_file_are_said_with_their_lines(tmp_path: Path) -> None:
    text = KINDS.replace("prompt: Why?", "prompt: Why?\n  prompt: How?\n  hint: x").replace(
        "tolerance: 0.1", "tolerance: x"
    )
    (tmp_path / "many.yaml").write_text(text, encoding="utf-8")
    said = "\n".join(str(problem) for problem in open_questions(tmp_path)[1])
    assert "many.yaml:49: question 'essay', key hint: Extra" in said
    assert "question 'essay', key prompt: is there twice; keep one" in said
    assert "question 'guess', key tolerance: Input should be a valid number" in said
