"""Workloads with names: lengths that are typical of a use. The lengths are ours, to begin with and to change."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """One use of a model, as tokens in and out and conversations at once."""

    name: str
    prompt_tokens: int
    output_tokens: int
    concurrency: int
    why: str
    """What the lengths stand for, in one clause."""


PRESETS: Mapping[str, NamedWorkload] = {
    "example": NamedWorkload(
        "Worked example", 2048, 500, 1, "one long question and a full answer, on an idle server"
    ),
    "chat": NamedWorkload("Chat", 1000, 300, 16, "a few turns of history, and a paragraph or two"),
    "retrieval": NamedWorkload("Retrieval", 4000, 300, 16, "a question with eight passages of 500 tokens"),
    "summarising": NamedWorkload("Summarising", 16_000, 400, 4, "a report of forty pages on half a page"),
    "code": NamedWorkload("Code completion", 2000, 40, 32, "the file around the cursor, and a few lines"),
    "agent": NamedWorkload(
        "Agent loop", 24_000, 250, 4, "instructions, tools and all earlier steps, for the next call"
    ),
    "writing": NamedWorkload("Long writing", 300, 4000, 8, "a short brief, and a chapter"),
}
