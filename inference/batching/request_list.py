"""Requests as lines of text that a learner can edit: arrival, prompt, output."""

from collections.abc import Sequence

from inference.batching.records import Arrival


def written(arrivals: Sequence[Arrival]) -> str:
    return "\n".join(
        f"{arrival.before_pass}, {arrival.prompt_tokens}, {arrival.output_tokens}" for arrival in arrivals
    )


def read(text: str) -> tuple[Arrival, ...]:
    """The requests of these lines; empty lines are passed over. ValueError names the line that cannot be read."""
    arrivals = []
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.replace(",", " ").split()
        if not parts:
            continue
        if len(parts) != 3 or not all(_is_number(part) for part in parts):
            raise ValueError(
                f"Line {number} must be three whole numbers (arrival, prompt tokens, output tokens), got {line!r}."
            )
        arrivals.append(Arrival(*map(int, parts)))
    return tuple(arrivals)


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 6
