"""Lesson 7's experiment asks for a diagnosis: its table has a row for each there is."""

from inference.latency.diagnosis import CAUSES
from lessons import FOLDER

ROWS = {
    "long prompt": "TTFT, for long prompts only",
    "queue": "neither: queue",
    "cold start": "neither: cold start",
    "prefix miss": "shared tokens fed again",
    "slow client": "neither: a slow client",
    "overhead": "everything, with a tiny model",
    "memory pressure": "neither: memory pressure",
    "long context": "ITL median, at long contexts",
    "stalled by a neighbour": "somebody else's prefill",
    "chunks": "neither: streaming",
}


def test_every_diagnosis_has_a_row_of_its_own() -> None:
    lines = (FOLDER / "07_latency.md").read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("| ")]
    assert ROWS.keys() == CAUSES.keys()
    found = [[line for line in table if words in line] for words in ROWS.values()]
    assert all(len(rows) == 1 for rows in found), found
    assert len({rows[0] for rows in found}) == len(CAUSES)
