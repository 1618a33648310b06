"""A learner in a hurry, to be killed: answers without end and prints each answer that was acknowledged."""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from quizzes.progress.progress import Progress

NUM_THREADS = 4


def main(url: str, key: str, name: str) -> None:
    progress = Progress(url)

    def answer(thread: int) -> None:
        for number in count():
            question = f"{name}-{thread}-{number}"
            progress.answer(key, question, "x" * 100, is_correct=True, idea="i", submission=question)
            sys.stdout.write(question + "\n")
            sys.stdout.flush()

    with ThreadPoolExecutor(NUM_THREADS) as threads:
        list(threads.map(answer, range(NUM_THREADS)))


if __name__ == "__main__":
    main(*sys.argv[1:])
