"""A question of every kind, as a quiz file has it, and facts that tests can be sure of."""

import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from inference.facts.fact import FORMATS, Fact
from quizzes import Question, open_questions

VALUES = {
    "gap_s": (0.050, "seconds"),
    "cache_bytes": (138_240.0, "bytes"),
    "share": (0.25, "percent"),
    "heads": (3.0, "int"),
}

KINDS = """
- id: pick
  kind: choice
  prompt: Which phase reads the prompt?
  idea: phases
  choices:
    - {id: first, text: Prefill, is_correct: true, feedback: In one pass.}
    - {id: second, text: Decode, is_correct: false, feedback: That one writes.}
- id: several
  kind: multiple
  prompt: What is in the KV cache?
  idea: cache
  choices:
    - {id: k, text: Keys, is_correct: true, feedback: One per KV head.}
    - {id: v, text: Values, is_correct: true, feedback: Likewise.}
    - {id: w, text: Weights, is_correct: false, feedback: They are apart.}
- id: gap
  kind: number
  prompt: How long is a gap of {{heads:int}} heads?
  idea: pace
  fact: gap_s
  unit: ms
  tolerance: 0.05
  feedback: It is {{gap_s:seconds}}.
  mistakes:
    - {factor: 3, feedback: That counts query heads.}
    - {fact: heads, feedback: That is the number of heads in seconds.}
- id: sequence
  kind: order
  prompt: In which order?
  idea: phases
  items:
    - {id: tok, text: Tokenise}
    - {id: pre, text: Prefill}
    - {id: dec, text: Decode}
  feedback: Text becomes tokens first.
- id: word
  kind: term
  prompt: What keeps keys and values?
  idea: cache
  accepts: [KV cache, key-value cache]
  feedback: It grows with every token.
  mistakes:
    - {accepts: [memory], feedback: Memory holds more than that.}
- id: essay
  kind: written
  prompt: Why?
  idea: phases
  rubric:
    - {text: It is sequential., accepts: [sequential]}
  model_answer: Decode is sequential.
- id: guess
  kind: predict
  prompt: How large is the cache at the end?
  idea: cache
  measure: kv_bytes
  unit: kB
  tolerance: 0.1
  feedback: "You said {given}, the run says {measured}: {error}."
"""


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts with known values in place of the project's."""
    module = ModuleType("inference.facts")
    known = {name: Fact(name, partial(float, value), kind, "a test") for name, (value, kind) in VALUES.items()}
    vars(module).update(
        FACTS=known,
        value=lambda name: known[name].compute(),
        text=lambda name, kind: FORMATS[kind](known[name].compute()),
    )
    monkeypatch.setitem(sys.modules, "inference.facts", module)
    monkeypatch.setattr("inference.facts", module, raising=False)


def kinds(folder: Path) -> dict[str, Question]:
    """Every question of KINDS by id."""
    (folder / "kinds.yaml").write_text(KINDS, encoding="utf-8")
    questions, problems = open_questions(folder)
    assert problems == []
    return {question.id: question for question in questions}


def changed(folder: Path, question_id: str, **changes: object) -> list[str]:
    """What the loader says of one question of KINDS with some keys changed; None takes a key away."""
    row = next(row for row in yaml.safe_load(KINDS) if row["id"] == question_id) | changes
    rows = [{key: value for key, value in row.items() if value is not None}]
    (folder / "changed.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")
    return [str(problem) for problem in open_questions(folder)[1]]
