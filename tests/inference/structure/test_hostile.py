"""Hostile constraints: refused or run within bounds, while others go on, and no memory stays behind."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from inference.engine import Engine
from inference.jobs.drive import drained
from inference.jobs.experiments import Experiments, beginning
from inference.jobs.kept import Kept
from inference.jobs.limits import Limits
from inference.jobs.worker import Worker
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.structure.check import judge
from inference.structure.given import check
from inference.structure.job import structured_job
from inference.structure.records import Constraint, Kind, StructuredRequest, StructuredRun
from tests import hostile

PATIENCE_S = 60
LONGEST_STEP_S = 1.0
SCHEMA: Kind = "JSON schema"


def _constraints() -> dict[str, Constraint]:
    schemas = hostile.COUNTED_SCHEMAS | hostile.SCHEMAS
    found = {f"schema: {name}": Constraint(SCHEMA, json.dumps(schema)) for name, schema in schemas.items()}
    found |= {f"nesting: {name}": Constraint(SCHEMA, text) for name, text in hostile.RECURSIONS.items()}
    found |= {
        f"pattern: {name}": Constraint(SCHEMA, json.dumps({"type": "string", "pattern": text}))
        for name, text in hostile.REGEXES.items()
    }
    found |= {f"regex: {name}": Constraint("regular expression", text) for name, text in hostile.REGEXES.items()}
    return found | {f"choices: {name}": Constraint("choices", text) for name, text in hostile.CHOICES.items()}


CONSTRAINTS = _constraints()


@pytest.fixture
def experiments(tiny: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Experiments]:
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    worker = Worker()
    yield Experiments(beginning(tiny, Limits()), worker, Kept.of(tiny))
    worker.stop()


def _start(experiments: Experiments, constraint: Constraint, learner: str) -> StructuredRun:
    request = StructuredRequest(constraint, Recipe("x", SamplingParams(), 4))
    one = experiments.start(structured_job("a run", lambda: request), learner)
    assert one.future is not None
    return one.future.result(PATIENCE_S)


@pytest.mark.parametrize("name", hostile.COUNTED_SCHEMAS)
def test_products_of_alternatives_are_refused_by_counting(name: str) -> None:
    start = time.monotonic()
    with pytest.raises(ValueError, match=r"more than 4,096 combinations.*give allOf fewer parts"):
        check(Constraint(SCHEMA, json.dumps(hostile.COUNTED_SCHEMAS[name])))
    assert time.monotonic() - start < 2


def test_alternatives_beside_one_another_are_no_product() -> None:
    nullable = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    schema = {"type": "object", "properties": {f"p{place}": nullable for place in range(200)}}
    check(Constraint(SCHEMA, json.dumps(schema)))
    check(Constraint(SCHEMA, json.dumps({"anyOf": [{"const": place} for place in range(2_000)]})))
    check(Constraint(SCHEMA, json.dumps({"$defs": {"tree": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}})))


@pytest.mark.slow
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_hostile_constraint_is_refused_in_a_sentence_or_runs_with_short_steps(tiny: Engine, name: str) -> None:
    recipe = Recipe("x", SamplingParams(temperature=1.0, seed=1), 24)
    job = structured_job("a run", lambda: StructuredRequest(CONSTRAINTS[name], recipe))
    try:
        run, _ = drained(job.begin(tiny, Limits()))
    except ValueError as refusal:
        assert "\n" not in str(refusal)  # noqa: PT017  # being refused is as good as being run
        assert len(str(refusal)) < 500  # noqa: PT017
        return
    assert max(step.mask_s for step in run.steps) < LONGEST_STEP_S
    assert run.compile_s < LONGEST_STEP_S * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        hostile.COUNTED_SCHEMAS["a product of alternatives"],
        hostile.SCHEMAS["alternatives that meet in one property"],
    ],
    ids=["counted", "killed"],
)
def test_another_learner_is_served_while_a_hostile_schema_is_tried(
    experiments: Experiments, schema: dict[str, object]
) -> None:
    with ThreadPoolExecutor() as threads:
        hostile_start = threads.submit(_start, experiments, Constraint(SCHEMA, json.dumps(schema)), "mallory")
        waits_s = []
        for _ in range(3):
            start = time.monotonic()
            assert _start(experiments, Constraint("choices", "ab"), "ada").text == "ab"
            waits_s.append(time.monotonic() - start)
        with pytest.raises(ValueError, match=r"combinations|took longer than 2 s|ended without"):
            hostile_start.result(PATIENCE_S)
    assert min(waits_s) < 1  # 0.1 s where nothing else runs; the first may start a process


@pytest.mark.slow
def test_memory_goes_back_after_hostile_schemas(experiments: Experiments) -> None:
    own = psutil.Process()

    def memory() -> int:
        return sum(one.memory_info().rss for one in (own, *own.children(recursive=True)))

    for _ in range(2):
        _start(experiments, Constraint("choices", "ab"), "ada")
    before = memory()
    for name in ("a multiple of millions", "alternatives that meet in the items"):
        with pytest.raises(ValueError, match=r"took longer than|ended without"):
            _start(experiments, Constraint(SCHEMA, json.dumps(hostile.SCHEMAS[name])), "mallory")
    _start(experiments, Constraint("choices", "ab"), "ada")
    assert memory() - before < 100_000_000, "the schemas themselves took gigabytes"


@pytest.mark.slow
@pytest.mark.parametrize("name", hostile.VERDICTS)
def test_a_verdict_that_would_take_for_ever_is_not_given(name: str) -> None:
    schema, text = hostile.VERDICTS[name]
    verdict = judge(Constraint(SCHEMA, schema), text)
    assert verdict.exception(PATIENCE_S) is not None or verdict.result() is None
