"""`python -m inference.weights` fetches the chosen model before the app starts."""

import os
import sys

from inference.weights import WeightsError, find


def main() -> int:
    """Fetch the chosen model with a line per sentence and tenth; the exit status."""
    said: set[str] = set()

    def say(sentence: str, fraction: float | None) -> None:
        line = sentence if fraction is None else f"{sentence}: {int(10 * fraction) * 10}%"
        if line not in said:
            said.add(line)
            print(line, flush=True)

    if os.environ.get("TWOPHASES_MODEL", "").startswith("random:"):
        print("Random weights: there is nothing to fetch")
        return 0
    try:
        print(find(progress=say).path)
    except WeightsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
